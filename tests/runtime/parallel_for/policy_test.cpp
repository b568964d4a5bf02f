// SPDX-License-Identifier: Apache-2.0
// Every policy under a simulated clock: threads that differ in speed, on machines that are not here.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "corescale/parallel_for/block_policy.hpp"
#include "shared_ranges.hpp"

namespace corescale::test {
namespace {

using detail::shared_ranges;
using detail::unit_block;

struct simulated {
  std::uint64_t iterations = 0;
  std::uint64_t claims = 0;
  std::uint64_t steals = 0;
  std::uint64_t smallest = ~0ULL;
  double longest = 0;
  double busy = 0;
};

/// Whoever is free first claims next; its block takes as long as its speed says.
simulated run(const loop_description& loop, const loop_plan& plan, std::mt19937& random) {
  simulated seen;
  detail::range_counters counters;
  shared_ranges ranges(loop.n, plan, counters);
  std::uniform_real_distribution<double> speed(0.5, 2);
  struct thread {
    shared_ranges::member me;
    double free_at, time_per_iteration;
  };
  std::vector<thread> threads;
  for (std::uint32_t id = 0; id < plan.threads; ++id) {
    const std::uint32_t group = id * loop.l3_domains / plan.threads;
    threads.push_back({ranges.join(id, group), 0.0, speed(random)});
  }
  std::vector<std::pair<std::uint64_t, std::uint64_t>> blocks;
  while (!threads.empty()) {
    const auto first = std::ranges::min_element(threads, {}, &thread::free_at);
    unit_block block;
    if (!ranges.next(first->me, block)) {
      seen.claims += first->me.claims;
      seen.steals += first->me.steals;
      seen.longest = std::max(seen.longest, first->free_at);
      threads.erase(first);
      continue;
    }
    const std::uint64_t begin = block.begin << ranges.shift();
    const std::uint64_t end = std::min(loop.n, block.end << ranges.shift());
    EXPECT_LT(begin, end);
    EXPECT_LE(end, loop.n);
    blocks.emplace_back(begin, end);
    seen.iterations += end - begin;
    seen.smallest = std::min(seen.smallest, end - begin);
    const double time = static_cast<double>(end - begin) * first->time_per_iteration;
    first->free_at += time;
    seen.busy += time;
  }
  std::ranges::sort(blocks);
  for (std::size_t i = 1; i < blocks.size(); ++i) EXPECT_EQ(blocks[i - 1].second, blocks[i].first);
  return seen;
}

std::uint64_t pick(std::mt19937& random, std::uint64_t low, std::uint64_t high) {
  return std::uniform_int_distribution<std::uint64_t>(low, high)(random);
}

class Simulated : public testing::TestWithParam<block_policy> {};

INSTANTIATE_TEST_SUITE_P(Policies, Simulated,
                         testing::ValuesIn(block_policies().begin(), block_policies().end()),
                         [](const auto& row) { return std::string(row.param.name); });

TEST_P(Simulated, SumsToNOnMachinesOfAnySize) {
  std::mt19937 random(13);
  for (int round = 0; round < 2000; ++round) {
    loop_description loop;
    loop.n = pick(random, 1, 1ULL << pick(random, 1, 16));
    loop.cores = static_cast<std::uint32_t>(pick(random, 1, 256));
    loop.threads = static_cast<std::uint32_t>(std::min<std::uint64_t>(loop.n, pick(random, 1, 256)));
    loop.l3_domains = static_cast<std::uint32_t>(pick(random, 1, 16));
    loop.block = pick(random, 1, 1000);
    loop.iteration_ns = static_cast<double>(pick(random, 0, 3)) * std::pow(10.0, pick(random, 0, 5));
    loop.spread = static_cast<double>(pick(random, 0, 20)) / 10;
    loop.cost = {std::pow(2.0, pick(random, 0, 16)), std::pow(2.0, pick(random, 0, 16)),
                 std::pow(1024.0, pick(random, 0, 6))};
    const loop_plan plan = GetParam().plan(loop);
    ASSERT_GE(plan.largest, 1U);
    ASSERT_GE(plan.smallest, 1U);
    ASSERT_LE(plan.threads, std::max(1U, loop.threads));
    if (plan.counters == 0) continue;  // the caller runs it alone
    const simulated seen = run(loop, plan, random);
    ASSERT_EQ(seen.iterations, loop.n) << GetParam().name << " n " << loop.n << " threads " << plan.threads;
    ASSERT_GE(seen.smallest, 1U);
  }
}

TEST(AnyPlan, SumsToN) {
  std::mt19937 random(17);
  for (int round = 0; round < 5000; ++round) {
    loop_description loop;
    loop.n = pick(random, 1, 1ULL << pick(random, 1, 14));
    loop.l3_domains = static_cast<std::uint32_t>(pick(random, 1, 100));
    loop_plan plan;
    plan.threads = static_cast<std::uint32_t>(pick(random, 1, std::min<std::uint64_t>(loop.n, 150)));
    plan.counters = static_cast<std::uint32_t>(pick(random, 1, 200));
    plan.largest = pick(random, 0, 1ULL << pick(random, 1, 14));
    plan.smallest = pick(random, 0, 1ULL << pick(random, 1, 14));
    plan.divisor = static_cast<std::uint32_t>(pick(random, 0, 5));
    plan.by_group = pick(random, 0, 1) == 1;
    plan.steal = pick(random, 0, 1) == 1;
    plan.adapt = pick(random, 0, 1) == 1;
    ASSERT_EQ(run(loop, plan, random).iterations, loop.n)
        << plan.threads << " threads, " << plan.counters << " counters, round " << round;
  }
}

TEST(PublishedModel, GivesTheBlocksThatTheStudyPrints) {
  const auto block = [](std::uint32_t groups, std::uint32_t threads, double read, double write,
                        double operations) {
    return find_block_policy("published_cost_model")
        ->plan({.n = 1U << 20, .threads = threads, .l3_domains = groups, .cost = {read, write, operations}});
  };
  const double c6 = std::pow(1024.0, 6);
  EXPECT_EQ(block(1, 8, 1024, 1024, c6).largest, 19U);    // 19.8
  EXPECT_EQ(block(1, 8, 64, 1024, c6).largest, 46U);      // 46.7
  EXPECT_EQ(block(1, 24, 1024, 1024, c6).largest, 11U);   // 11.5
  EXPECT_EQ(block(1, 8, 1024, 1024, 1024).largest, 46U);  // 46.4
  EXPECT_FALSE(block(1, 8, 1024, 1024, c6).clamped);
}

TEST(PublishedModel, SaysWhereItIsNotPositive) {
  const loop_plan plan =
      find_block_policy("published_cost_model")->plan({.n = 4096, .threads = 8, .cost = {64, 64, 1024}});
  EXPECT_TRUE(plan.clamped);
  EXPECT_EQ(plan.largest, 512U);
}

TEST(PublishedModel, TakesAShareThatNoDoubleHolds) {
  const std::uint64_t n = ~std::uint64_t{0};
  const loop_plan plan =
      find_block_policy("published_cost_model")->plan({.n = n, .threads = 1, .cost = {64, 64, 1024}});
  EXPECT_TRUE(plan.clamped);
  EXPECT_EQ(plan.largest, n);
}

TEST(Trained, TheBlockFollowsTheWeights) {
  const auto block = [](calibration weights, double iteration_ns, std::uint32_t groups = 1) {
    return find_block_policy("trained")
        ->plan(
            {.n = 4096, .threads = 8, .l3_domains = groups, .iteration_ns = iteration_ns, .machine = weights})
        .largest;
  };
  EXPECT_EQ(block({.trained_near = 500}, 1000), 23U);  // sqrt(2 x 512 x 500 / 1000) = 22.6: 512 / 23
  EXPECT_EQ(block({.trained_near = 500, .trained_spread = 2}, 4000), 6U);     // 5.7: 512 / 91
  EXPECT_EQ(block({.trained_near = 500, .trained_spread = 0.5}, 4000), 16U);  // 512 / 32
  EXPECT_EQ(block({.trained_near = 500, .trained_far = 500}, 1000, 4), 47U);  // 45.3: 512 / 11
  EXPECT_EQ(block({.trained_near = 1e9}, 1000), 512U) << "a share";
  EXPECT_EQ(block({.trained_near = 1e-9}, 1000), 1U);
  EXPECT_TRUE(find_block_policy("trained")->plan({.n = 4096, .threads = 8}).adapt) << "nothing is known yet";
}

TEST(Guided, TaskflowsBlocksAreHalfOfTheRestOverTheThreads) {
  const loop_description loop{.n = 4000, .threads = 4};
  const loop_plan plan = find_block_policy("taskflow_guided")->plan(loop);
  detail::range_counters counters;
  shared_ranges ranges(loop.n, plan, counters);
  auto me = ranges.join(0, 0);
  unit_block block;
  for (std::uint64_t rest = loop.n; rest > 0; rest = loop.n - block.end) {
    ASSERT_TRUE(ranges.next(me, block));
    ASSERT_EQ(block.end - block.begin, std::max<std::uint64_t>(1, rest / 8));
  }
  EXPECT_FALSE(ranges.next(me, block));
}

TEST(Auto, StealingEvensOutThreadsOfDifferentSpeed) {
  std::mt19937 random(7);
  for (const std::uint32_t groups : {1U, 8U}) {
    const loop_description loop{
        .n = 100'000, .threads = 64, .cores = 64, .l3_domains = groups, .iteration_ns = 1000, .hot = true};
    const loop_plan plan = find_block_policy("auto")->plan(loop);
    ASSERT_TRUE(plan.steal);
    const simulated seen = run(loop, plan, random);
    EXPECT_GT(seen.steals, 0U);
    EXPECT_LT(seen.longest * 64, 1.05 * seen.busy) << groups << " groups";
  }
}

}  // namespace
}  // namespace corescale::test
