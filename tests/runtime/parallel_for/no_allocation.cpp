// SPDX-License-Identifier: Apache-2.0
// A loop asks for no memory, by any policy, once the process has read what it has to know of the machine.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <vector>

#include "corescale/parallel_for/parallel_for.hpp"
#include "corescale/parallel_for/parallel_reduce.hpp"
#include "corescale/team/any_team.hpp"

namespace {

std::atomic<long> requests{0};

void* counted(std::size_t size) {
  ++requests;
  if (void* const memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t size) { return counted(size); }
void* operator new[](std::size_t size) { return counted(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace {

using namespace corescale;

void all_kinds_of_loops(any_team& crew, std::vector<int>& values, const loop_options& options) {
  std::atomic<long> sum{0};
  parallel_for(
      crew, 0, 1000, [&](int i) { sum += i; }, options);
  parallel_for_blocks(
      crew, 0, 1000, [&](int begin, int end) { sum += end - begin; }, options);
  parallel_for_each(
      crew, values, [](int& one) { ++one; }, options);
  for (const reduction how : {reduction::fastest, reduction::deterministic})
    sum += parallel_reduce(
        crew, 0, 1000, 0L, [](int i) { return long{i}; }, [](long a, long b) { return a + b; }, how, options);
}

bool asks_for_none(any_team& crew, const block_policy& policy) {
  std::vector<int> values(1000);
  std::vector<loop_share> shares(crew.num_threads());
  loop_statistics seen{.shares = shares};
  loop_options options{.block = policy.needs_block ? 16U : 0U, .policy = &policy};
  all_kinds_of_loops(crew, values, options);
  const long before = requests;
  for (int call = 0; call < 40; ++call) {
    options.statistics = call % 2 ? &seen : nullptr;
    all_kinds_of_loops(crew, values, options);
  }
  const long asked = requests - before;
  if (asked > 0) std::printf("%s: %ld requests for memory in 200 loops\n", policy.name.data(), asked);
  return asked == 0;
}

}  // namespace

int main() {
  any_team crew = make_team(3);
  if (requests == 0) return std::puts("requests are not counted: making a team is one"), 1;
  bool good = true;
  for (const block_policy& policy : block_policies()) good = asks_for_none(crew, policy) && good;
  return good ? 0 : 1;
}
