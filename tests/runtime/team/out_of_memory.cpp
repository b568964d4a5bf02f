// SPDX-License-Identifier: Apache-2.0
// Memory that runs out in the middle of create() or work(): create() gives no team and leaves no thread behind, work() says what became of it.
// A process of its own, as it replaces operator new.
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <thread>

#include "corescale/team/process_team.hpp"
#include "systems_under_test.hpp"

namespace {

std::atomic<long> requests_left{-1};  // negative: no limit

bool is_refused() { return requests_left >= 0 && requests_left.fetch_sub(1) <= 0; }

}  // namespace

void* operator new(std::size_t bytes) {
  if (is_refused()) {
    requests_left = 0;  // and so is each later one
    throw std::bad_alloc();
  }
  if (void* const memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace {

using corescale::any_team;
using corescale::outcome;
using corescale::threading_system;

constexpr long most_requests =
    1000;  // of any system that makes a team of three; then the test itself is wrong

template <class Call>
auto with_memory_for(long requests, Call call) {
  requests_left = requests;
  auto result = call();
  requests_left = -1;
  return result;
}

std::ptrdiff_t threads_alive() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"),
                       std::filesystem::directory_iterator());
}

// A thread that was joined may still be listed for a moment.
bool threads_settle_at(std::ptrdiff_t expected) {
  for (int tries = 0; threads_alive() > expected && tries < 200; ++tries) usleep(5000);
  return threads_alive() <= expected;
}

bool create_is_good(const threading_system& system, std::size_t n) {
  if (!system.create(n)) return false;  // what a library keeps for good, it has by now
  const std::ptrdiff_t before = threads_alive();
  long refusals = 0;
  for (long requests = 0; requests < most_requests; ++requests) {
    any_team crew = with_memory_for(requests, [&] { return system.create(n); });
    if (crew) return refusals > 0 && crew.work([](std::size_t) {}) == outcome::done;
    ++refusals;
    if (!threads_settle_at(before)) return false;
  }
  return false;
}

bool work_is_good(const threading_system& system, std::size_t n) {
  any_team crew = system.create(n);
  std::atomic<std::size_t> calls{0};
  for (long requests = 0; requests < 100; ++requests) {
    calls = 0;
    const outcome answer =
        with_memory_for(requests, [&] { return crew.work([&](std::size_t) { ++calls; }); });
    if (answer == outcome::done ? calls != n : answer != outcome::too_few_threads || calls != 0) return false;
  }
  return crew.work([](std::size_t) {}) == outcome::done;
}

/// A thread that no team knows yet, and a process's team whose master has ended.
bool process_team_is_good() {
  bool refused = false;
  bool made = false;
  std::thread([] { static_cast<void>(corescale::team_create(2, "pthread")); }).join();
  std::thread([&] {
    refused = !with_memory_for(0, [] { return corescale::team_create(2, "pthread"); });
    made = corescale::team_create(2, "pthread") && corescale::team_destroy();
  }).join();
  return refused && made;
}

}  // namespace

int main() {
  int failures = process_team_is_good() ? 0 : (std::puts("process team FAILED"), 1);
  for (const threading_system& system : corescale::threading_systems()) {
    if (!system.is_present() || (corescale::test::thread_sanitizer && system.name == "openmp")) continue;
    const std::size_t n = std::min<std::size_t>(3, corescale::test::largest_team(system));
    const bool created = create_is_good(system, n);
    const bool worked = work_is_good(system, n);
    std::printf("%-8s create %s, work %s\n", system.name.data(), created ? "good" : "FAILED",
                worked ? "good" : "FAILED");
    failures += !created || !worked;
  }
  return failures == 0 ? 0 : 1;
}
