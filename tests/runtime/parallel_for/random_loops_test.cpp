// SPDX-License-Identifier: Apache-2.0
// Loops drawn at random: n, block, policy, threads, body times, exceptions, nesting, concurrent callers.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

#include "corescale/machine/cpu_pause.hpp"
#include "corescale/parallel_for/parallel_for.hpp"
#include "corescale/team/any_team.hpp"

namespace corescale::test {
namespace {

class drawing {
 public:
  explicit drawing(unsigned seed) : random_(seed) {}
  std::size_t below(std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_); }

 private:
  std::mt19937 random_;
};

struct loop_case {
  std::size_t n, thrower, longest_body, nested;
  loop_options options;

  explicit loop_case(drawing& draw)
      : n(draw.below(std::size_t{1} << draw.below(13)) + draw.below(2)),
        thrower(draw.below(4) == 0 ? draw.below(n + 1) : ~std::size_t{0}),
        longest_body(draw.below(3) == 0 ? 200 : 1),
        nested(draw.below(6) == 0 ? draw.below(20) : 0) {
    const auto table = block_policies();
    options.policy = &table[draw.below(table.size())];
    options.block = 1 + draw.below(50);
    options.max_threads = static_cast<std::uint32_t>(draw.below(6));
    options.name = draw.below(2) ? "random loop" : nullptr;
  }
};

void run(any_team& crew, const loop_case& drawn) {
  std::vector<std::atomic<int>> runs(drawn.n);
  std::atomic<std::size_t> nested{0};
  const auto body = [&](std::size_t i) {
    ++runs[i];
    for (std::size_t pause = i * 7 % drawn.longest_body; pause > 0; --pause) cpu_pause();
    if (drawn.nested > 0)
      parallel_for(
          crew, std::size_t{0}, drawn.nested, [&](std::size_t) { ++nested; }, drawn.options);
    if (i == drawn.thrower) throw i;
  };
  bool thrown = false;
  try {
    parallel_for(crew, std::size_t{0}, drawn.n, body, drawn.options);
  } catch (const std::size_t at) {
    thrown = true;
    EXPECT_EQ(at, drawn.thrower);
  }
  EXPECT_EQ(thrown, drawn.thrower < drawn.n);
  EXPECT_TRUE(thrown || nested == drawn.n * drawn.nested);
  for (const auto& one : runs) EXPECT_TRUE(one == 1 || (thrown && one == 0)) << one;
}

// CORESCALE_RANDOM_SECONDS: for how long; a second by default.
std::chrono::milliseconds time_to_run() {
  const char* const asked = std::getenv("CORESCALE_RANDOM_SECONDS");
  return std::chrono::milliseconds(asked ? static_cast<long>(1000 * std::atof(asked)) : 1000);
}

void run_until(std::chrono::steady_clock::time_point end, unsigned seed) {
  drawing draw(seed);
  while (std::chrono::steady_clock::now() < end) {
    any_team crew = make_team(1 + draw.below(5));
    for (int loop = 0; loop < 20; ++loop) run(crew, loop_case(draw));
  }
}

TEST(RandomLoops, EachIterationOnce) { run_until(std::chrono::steady_clock::now() + time_to_run(), 42); }

TEST(RandomLoops, EachIterationOnceBesideOthers) {
  const auto end = std::chrono::steady_clock::now() + time_to_run();
  std::vector<std::thread> callers;
  for (unsigned seed = 1; seed <= 3; ++seed) callers.emplace_back([=] { run_until(end, seed); });
  for (std::thread& one : callers) one.join();
}

}  // namespace
}  // namespace corescale::test
