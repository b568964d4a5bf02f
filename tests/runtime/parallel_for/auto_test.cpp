// SPDX-License-Identifier: Apache-2.0
// What `auto` decides, and what it learns.
#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "corescale/machine/clock.hpp"
#include "corescale/machine/topology.hpp"
#include "corescale/parallel_for/block_policy.hpp"
#include "corescale/parallel_for/parallel_for.hpp"
#include "corescale/team/any_team.hpp"

namespace corescale::test {
namespace {

loop_plan plan(const loop_description& loop) { return find_block_policy("auto")->plan(loop); }

loop_description on_8_cores(std::uint64_t n, double iteration_ns) {
  return {.n = n, .threads = 8, .cores = 8, .iteration_ns = iteration_ns};
}

TEST(AutoPlan, ALoopThatCannotPayForAForkStaysWithItsCaller) {
  EXPECT_EQ(plan(on_8_cores(1000, 1)).counters, 0U);
  EXPECT_GT(plan(on_8_cores(1'000'000, 1)).counters, 0U);
}

TEST(AutoPlan, AHotTeamPaysEarlier) {
  loop_description loop = on_8_cores(4000, 1);
  EXPECT_EQ(plan(loop).counters, 0U);
  loop.hot = true;
  EXPECT_GT(plan(loop).counters, 0U);
}

TEST(AutoPlan, NotMoreThreadsThanPay) {
  loop_description loop = on_8_cores(3000, 1);
  loop.threads = loop.cores = 64;
  loop.hot = true;
  EXPECT_GT(plan(loop).threads, 1U);
  EXPECT_LT(plan(loop).threads, 64U);
  loop.n = 10'000'000;
  EXPECT_EQ(plan(loop).threads, 64U);
}

TEST(AutoPlan, DearerIterationsAndMoreSpreadGiveSmallerBlocks) {
  EXPECT_GT(plan(on_8_cores(1'000'000, 1)).largest, plan(on_8_cores(1'000'000, 100)).largest);
  loop_description uneven = on_8_cores(1'000'000, 1);
  uneven.spread = 2;
  EXPECT_GT(plan(on_8_cores(1'000'000, 1)).largest, plan(uneven).largest);
  EXPECT_EQ(plan(on_8_cores(16, 1e9)).largest, 1U);
}

TEST(AutoPlan, NotMoreThreadsThanCores) {
  loop_description loop = on_8_cores(1'000'000, 100);
  loop.cores = 2;
  EXPECT_EQ(plan(loop).threads, 2U);
  loop.cores = 1;
  EXPECT_EQ(plan(loop).counters, 0U);
}

TEST(AutoPlan, ACostSaysBeforehandWhatATimingWouldSayLater) {
  loop_description loop = on_8_cores(100, 0);
  EXPECT_TRUE(plan(loop).adapt);
  loop.cost.operations = 1;
  EXPECT_EQ(plan(loop).counters, 0U);
  loop.cost.operations = 1e6;
  EXPECT_TRUE(plan(loop).adapt);
  EXPECT_EQ(plan(loop).counters, 8U);
}

struct seen_loop {
  std::vector<loop_share> shares{2};
  loop_statistics statistics{.shares = shares};
};

void busy_for(std::int64_t ns) {
  if (ns == 0) return;
  const std::int64_t end = now_ns() + ns;
  while (now_ns() < end) {
  }
}

TEST(AutoLearns, TheFirstCallForksAndALightLoopDoesNotAfterIt) {
  if (usable_cores() < 2) GTEST_SKIP() << "needs two cores";
  any_team crew = make_team(2);
  seen_loop seen;
  std::vector<std::uint32_t> counters;
  for (int call = 0; call < 8; ++call) {
    parallel_for(crew, 0, 20, [](int) {}, {.name = "light", .statistics = &seen.statistics});
    counters.push_back(seen.statistics.counters);
  }
  EXPECT_GT(counters.front(), 0U);
  EXPECT_EQ(counters.back(), 0U);
}

TEST(AutoLearns, ALoopThatBecomesDearForksAgain) {
  if (usable_cores() < 2) GTEST_SKIP() << "needs two cores";
  any_team crew = make_team(2);
  seen_loop seen;
  std::int64_t each = 0;
  const auto call = [&] {
    parallel_for(crew, 0, 20, [&](int) { busy_for(each); },
                 {.name = "changing", .statistics = &seen.statistics});
  };
  for (int i = 0; i < 8; ++i) call();
  EXPECT_EQ(seen.statistics.counters, 0U);
  each = 20'000;
  for (int i = 0; i < 2; ++i) call();
  EXPECT_GT(seen.statistics.counters, 0U);
}

TEST(AutoLearns, AFirstCallFindsItsBlock) {
  if (usable_cores() < 2) GTEST_SKIP() << "needs two cores";
  any_team crew = make_team(2);
  seen_loop seen;
  parallel_for(crew, 0, 4'000'000, [](int) { asm volatile(""); }, {.statistics = &seen.statistics});
  EXPECT_GT(seen.statistics.block, 100U);
  EXPECT_LT(seen.statistics.claims, 40'000U);
}

TEST(AutoLearns, DifferentBodiesAtOnePlaceAreDifferentLoops) {
  any_team crew = make_team(2);
  const auto looping = [&](auto body) {
    seen_loop seen;
    for (int call = 0; call < 2; ++call) parallel_for(crew, 0, 50, body, {.statistics = &seen.statistics});
    return seen.statistics.counters;
  };
  const auto light = looping([](int) {});
  const auto heavy = looping([](int) { busy_for(20'000); });
  EXPECT_EQ(light, 0U);
  EXPECT_TRUE(usable_cores() < 2 || heavy > 0);
}

}  // namespace
}  // namespace corescale::test
