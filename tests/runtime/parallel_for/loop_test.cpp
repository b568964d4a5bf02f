// SPDX-License-Identifier: Apache-2.0 (more than 300 lines: one contract, for every block policy)
// The contract of parallel_for.hpp, for every block policy.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <limits>
#include <memory>
#include <numeric>
#include <ostream>
#include <ranges>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "../team/systems_under_test.hpp"
#include "corescale/machine/cpu_pause.hpp"
#include "corescale/parallel_for/block_policy.hpp"
#include "corescale/parallel_for/parallel_for.hpp"
#include "corescale/team/any_team.hpp"
#include "corescale/team/spin.hpp"

namespace corescale {

void PrintTo(const block_policy& policy, std::ostream* out) { *out << policy.name; }

namespace test {
namespace {

class EveryPolicy : public testing::TestWithParam<block_policy> {
 protected:
  loop_options options() const {
    return {.block = GetParam().needs_block ? 7U : 0U, .policy = find_block_policy(GetParam().name)};
  }
  any_team crew_ = make_team(4);
};

INSTANTIATE_TEST_SUITE_P(Policies, EveryPolicy,
                         testing::ValuesIn(block_policies().begin(), block_policies().end()),
                         [](const auto& row) { return std::string(row.param.name); });

TEST_P(EveryPolicy, RunsEachIterationOnce) {
  for (const int n : {0, 1, 2, 3, 4, 5, 63, 64, 65, 1000, 100'000}) {
    for (int call = 0; call < 4; ++call) {
      std::vector<std::atomic<int>> runs(static_cast<std::size_t>(n));
      parallel_for(
          crew_, 0, n, [&](int i) { ++runs[static_cast<std::size_t>(i)]; }, options());
      for (const auto& one : runs) ASSERT_EQ(one, 1) << n;
    }
  }
}

TEST_P(EveryPolicy, BlocksAreTheRange) {
  for (int call = 0; call < 4; ++call) {
    std::vector<std::atomic<int>> runs(5000);
    const auto block = [&](long begin, long end) {
      EXPECT_LT(begin, end);
      for (long i = begin; i < end; ++i) ++runs[static_cast<std::size_t>(i + 2500)];
    };
    parallel_for_blocks(crew_, -2500, 2500L, block, options());
    for (const auto& one : runs) ASSERT_EQ(one, 1);
  }
}

TEST_P(EveryPolicy, AnExceptionEndsTheLoopAndReachesTheCaller) {
  for (const int thrower : {0, 1, 499, 999}) {
    std::atomic<int> begun{0};
    const auto body = [&](int i) {
      ++begun;
      if (i == thrower) throw std::runtime_error("at " + std::to_string(i));
    };
    try {
      parallel_for(crew_, 0, 1000, body, options());
      ADD_FAILURE() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_EQ(error.what(), "at " + std::to_string(thrower));
    }
    EXPECT_LE(begun, 1000);
  }
  std::atomic<int> runs{0};
  parallel_for(
      crew_, 0, 100, [&](int) { ++runs; }, options());
  EXPECT_EQ(runs, 100);
}

TEST_P(EveryPolicy, ABodyThatAlwaysThrowsEndsTheLoop) {
  for (int call = 0; call < 20; ++call) {
    std::atomic<int> begun{0};
    EXPECT_THROW(parallel_for(
                     crew_, 0, 100'000, [&](int i) { ++begun, throw i; }, options()),
                 int);
    EXPECT_LE(begun, 4);
  }
}

TEST_P(EveryPolicy, ANestedLoopRunsInline) {
  std::atomic<int> runs{0};
  for (int call = 0; call < 3; ++call) {
    parallel_for(
        crew_, 0, 20,
        [&](int) {
          const auto me = std::this_thread::get_id();
          const bool is_nested = in_parallel();  // not where `auto` runs the outer one alone
          parallel_for(
              crew_, 0, 10,
              [&](int) {
                ++runs;
                EXPECT_TRUE(!is_nested || std::this_thread::get_id() == me);
              },
              options());
        },
        options());
  }
  EXPECT_EQ(runs, 600);
}

TEST_P(EveryPolicy, StatisticsAddUp) {
  std::vector<loop_share> shares(4);
  loop_statistics seen{.shares = shares};
  loop_options told = options();
  told.statistics = &seen;
  for (int call = 0; call < 3; ++call) {
    parallel_for(
        crew_, 0, 10'000, [](int) { cpu_pause(); }, told);
    EXPECT_EQ(seen.policy, GetParam().name);
    EXPECT_EQ(seen.iterations, 10'000U);
    EXPECT_GE(seen.block, 1U);
    std::uint64_t iterations = 0;
    std::uint64_t claims = 0;
    for (const loop_share& one : shares) {
      iterations += one.iterations;
      claims += one.claims;
      EXPECT_LE(one.start_ns + one.busy_ns, seen.elapsed_ns * 1.001);
    }
    EXPECT_EQ(iterations, 10'000U);
    EXPECT_EQ(claims, seen.claims);
    EXPECT_GE(seen.claims, (10'000 + seen.block - 1) / seen.block);
  }
}

TEST_P(EveryPolicy, AtMostSoManyThreadsTakePart) {
  loop_options told = options();
  told.max_threads = 2;
  std::vector<std::atomic<int>> runs(4);
  for (int call = 0; call < 5; ++call)
    parallel_for(
        crew_, 0, 5000, [&](int) { ++runs[thread_num()]; }, told);
  EXPECT_EQ(runs[0] + runs[1], 25'000);
}

TEST_P(EveryPolicy, ManyMoreThreadsThanCores) {
  any_team many = make_team(100);
  std::vector<std::atomic<int>> runs(10'000);
  for (int call = 0; call < 3; ++call)
    parallel_for(
        many, 0, 10'000, [&](int i) { ++runs[static_cast<std::size_t>(i)]; }, options());
  for (const auto& one : runs) ASSERT_EQ(one, 3);
}

TEST_P(EveryPolicy, BeyondTwoToTheThirtySecond) {
  constexpr std::uint64_t n = (1ULL << 33) + 12'345;
  loop_options told = options();
  if (told.block > 0) told.block = 1U << 20;
  std::atomic<std::uint64_t> sum{0};
  std::atomic<std::uint64_t> highest{0};
  const auto block = [&](std::uint64_t begin, std::uint64_t end) {
    sum += end - begin;
    for (auto seen = highest.load(); seen < end && !highest.compare_exchange_weak(seen, end);) {
    }
  };
  if (GetParam().name == "published_cost_model") told.cost = {};
  parallel_for_blocks(crew_, std::uint64_t{0}, n, block, told);
  EXPECT_EQ(sum, n);
  EXPECT_EQ(highest, n);
}

TEST_P(EveryPolicy, OnEveryThreadingSystem) {
  for (const threading_system& system : threading_systems()) {
    if (thread_sanitizer && system.name == "openmp") continue;  // it cannot see into this OpenMP library
    any_team crew = system.create(system.name == "serial" ? 1 : 3);
    if (!crew) continue;
    std::vector<std::atomic<int>> runs(3000);
    parallel_for(
        crew, 0, 3000, [&](int i) { ++runs[static_cast<std::size_t>(i)]; }, options());
    for (const auto& one : runs) ASSERT_EQ(one, 1) << system.name;
  }
}

using Loop = testing::Test;

TEST(Loop, AReversedRangeIsRefusedByName) {
  try {
    parallel_for(3, -4, [](int) { ADD_FAILURE(); });
    ADD_FAILURE() << "nothing was thrown";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("from 3 to -4"), std::string::npos) << error.what();
  }
  EXPECT_THROW(parallel_for(5U, -1, [](auto) { ADD_FAILURE(); }), std::invalid_argument);
}

TEST(Loop, AFixedBlockOfNoneIsRefused) {
  EXPECT_THROW(parallel_for(0, 10, [](int) {}, {.policy = find_block_policy("fixed")}),
               std::invalid_argument);
}

TEST(Loop, RangesAtTheEdgesOfTheirType) {
  constexpr auto low = std::numeric_limits<std::int64_t>::min();
  constexpr auto high = std::numeric_limits<std::int64_t>::max();
  std::atomic<std::uint64_t> sum{0};
  parallel_for_blocks(low, high, [&](std::int64_t begin, std::int64_t end) {
    sum += static_cast<std::uint64_t>(end) - static_cast<std::uint64_t>(begin);
  });
  EXPECT_EQ(sum, ~std::uint64_t{0});
  std::atomic<int> runs{0};
  parallel_for(static_cast<signed char>(-128), static_cast<signed char>(127), [&](auto) { ++runs; });
  EXPECT_EQ(runs, 255);
  std::atomic<std::int64_t> indices{0};
  constexpr int most = std::numeric_limits<int>::max();
  parallel_for(most - 3, most, [&](int i) { indices += i; });
  EXPECT_EQ(indices, 3 * std::int64_t{most} - 6);
  parallel_for(-2, 3U, [&](unsigned i) { indices += static_cast<int>(i); });
  EXPECT_EQ(indices, 3 * std::int64_t{most} - 6);
}

TEST(Loop, ABlockLargerThanAWordTimesThreadsDoesNotWrap) {
  any_team crew = make_team(16);
  constexpr std::uint64_t n = (1ULL << 30) - 1;
  for (int call = 0; call < 20; ++call) {
    std::atomic<std::uint64_t> sum{0};
    parallel_for_blocks(crew, std::uint64_t{0}, n,
                        [&](std::uint64_t begin, std::uint64_t end) { sum += end - begin; }, {.block = n});
    ASSERT_EQ(sum, n);
  }
}

TEST(Loop, ElementsOfARange) {
  std::vector<int> values(1000);
  parallel_for_each(values, [](int& one) { one = 2; });
  parallel_for_each(values.begin(), values.begin() + 500, [](int& one) { ++one; });
  EXPECT_EQ(std::accumulate(values.begin(), values.end(), 0), 2500);
  EXPECT_THROW(parallel_for_each(values.end(), values.begin(), [](int&) {}), std::invalid_argument);
}

#if !defined(__clang__) || __clang_major__ > 15  // earlier ones do not compile the views of libstdc++
TEST(Loop, ARangeWhoseDifferenceIsNoInteger) {   // but a wider type of the library's
  std::atomic<std::size_t> sum{0};
  parallel_for_each(std::views::iota(std::size_t{10}, std::size_t{1000}), [&](std::size_t i) { sum += i; });
  EXPECT_EQ(sum, 499'455U);
}
#endif

TEST(Loop, AnotherThreadThanTheMasterRunsInline) {
  const auto crew = spin_team::create(2);
  std::thread([&] {
    const auto me = std::this_thread::get_id();
    int runs = 0;
    parallel_for(*crew, 0, 1000,
                 [&](int) {
                   EXPECT_EQ(std::this_thread::get_id(), me);
                   ++runs;
                 },
                 {.block = 1});
    EXPECT_EQ(runs, 1000);
  }).join();
}

TEST(Loop, ConcurrentCallersOfTheDefaultTeamAllFinish) {
  std::vector<std::thread> callers;
  std::atomic<int> runs{0};
  for (int caller = 0; caller < 4; ++caller)
    callers.emplace_back([&] {
      for (int call = 0; call < 50; ++call) parallel_for(0, 500, [&](int) { ++runs; });
    });
  for (std::thread& one : callers) one.join();
  EXPECT_EQ(runs, 4 * 50 * 500);
}

TEST(Loop, AnEmptyTeamRunsInline) {
  any_team none;
  int runs = 0;
  parallel_for(none, 0, 100, [&](int) { ++runs; }, {.block = 3});
  EXPECT_EQ(runs, 100);
}

TEST(Loop, ATeamMayEndInAnotherThreadBetweenLoops) {
  auto crew = std::make_unique<any_team>(make_team(2));
  std::atomic<int> runs{0};
  const auto run = [&](int) { ++runs; };
  parallel_for(*crew, 0, 100, run, {.block = 1});
  std::thread([&] { crew.reset(); }).join();
  crew = std::make_unique<any_team>(make_team(2));
  parallel_for(*crew, 0, 100, run, {.block = 1});
  EXPECT_EQ(runs, 200);
}

TEST(Loop, AForkedChildRunsInline) {
  any_team crew = make_team(2);
  parallel_for(crew, 0, 100, [](int) {}, {.block = 1});
  const pid_t child = fork();
  if (child == 0) {
    int runs = 0;
    parallel_for(crew, 0, 100, [&](int) { ++runs; }, {.block = 1});
    _exit(runs == 100 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(Loop, AMaskNarrowedAfterCreationOnlySlowsIt) {
  any_team crew = make_team(2);
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  for (std::size_t cpu = 0; CPU_COUNT(&one) == 0; ++cpu)
    if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  std::atomic<int> runs{0};
  for (int call = 0; call < 10; ++call) parallel_for(crew, 0, 1000, [&](int) { ++runs; }, {.block = 16});
  EXPECT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
  EXPECT_EQ(runs, 10'000);
}

TEST(Loop, PolicyNamesAreTheTable) {
  EXPECT_EQ(block_policies().front().name, "auto");
  for (const block_policy& row : block_policies()) EXPECT_EQ(find_block_policy(row.name), &row);
  EXPECT_EQ(find_block_policy("clever"), nullptr);
}

}  // namespace
}  // namespace test
}  // namespace corescale
