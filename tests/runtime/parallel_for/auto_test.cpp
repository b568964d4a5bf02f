// SPDX-License-Identifier: Apache-2.0 (more than 300 lines: what one record learns, whose tests share its helpers)
// What `auto` decides, and what it learns.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <initializer_list>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "corescale/machine/clock.hpp"
#include "corescale/machine/topology.hpp"
#include "corescale/parallel_for/block_policy.hpp"
#include "corescale/parallel_for/parallel_for.hpp"
#include "corescale/team/any_team.hpp"
#include "learned.hpp"

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

TEST(AutoPlan, AShortEvenLoopIsOneBlockAThreadAndAnUnevenOrLongOneIsNot) {
  loop_description loop{.n = 1024, .threads = 2, .cores = 2, .iteration_ns = 3, .spread = 0.1, .hot = true};
  EXPECT_FALSE(plan(loop).steal);
  EXPECT_EQ(plan(loop).counters, 2U);
  EXPECT_GE(plan(loop).smallest, 512U);
  loop.spread = 1;
  EXPECT_TRUE(plan(loop).steal);
  loop.spread = 0.1;
  loop.n = 100'000;
  EXPECT_TRUE(plan(loop).steal);
}

TEST(AutoPlan, ALoopOfFourMicrosecondsIsStolenFromOnlyIfItIsVeryUneven) {
  loop_description loop{.n = 4000, .threads = 2, .cores = 2, .iteration_ns = 1, .spread = 0.25, .hot = true};
  EXPECT_FALSE(plan(loop).steal) << "two blocks of a short even loop differ so much by chance";
  loop.spread = 0.5;
  EXPECT_TRUE(plan(loop).steal);
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

/// The fewest and most counters of several calls: one call may be misled by whoever else uses the machine.
struct counters_of_calls {
  std::uint32_t fewest = ~0U;
  std::uint32_t most = 0;
  void add(const seen_loop& seen) {
    fewest = std::min(fewest, seen.statistics.counters);
    most = std::max(most, seen.statistics.counters);
  }
};

/// A name that no loop of this process has had: what was learned stays until its end.
std::string new_name() {
  static int names = 0;
  return "loop " + std::to_string(++names);
}

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
  const std::string name = new_name();
  const auto call = [&] {
    parallel_for(crew, 0, 20, [](int) {}, {.name = name.c_str(), .statistics = &seen.statistics});
  };
  call();
  EXPECT_GT(seen.statistics.counters, 0U);
  counters_of_calls later;
  for (int i = 0; i < 200; ++i) call(), later.add(seen);
  EXPECT_EQ(later.fewest, 0U);
}

/// How many of 2000 calls of a short loop at a new place run in at most three blocks.
std::ptrdiff_t calls_in_few_blocks() {
  any_team crew = make_team(2);
  const std::string name = new_name();
  std::array<int, 100> values{};
  std::array<std::atomic<int>, 2000> blocks{};
  for (std::atomic<int>& of_call : blocks)
    parallel_for_blocks(crew, std::size_t{0}, values.size(),
                        [&](std::size_t begin, std::size_t end) {
                          for (std::size_t i = begin; i < end; ++i) ++values[i];
                          ++of_call;
                        },
                        {.name = name.c_str()});
  return std::count_if(blocks.begin(), blocks.end(), [](int of_call) { return of_call <= 3; });
}

// If another program takes the core in one of the first calls, the loop is taken for a longer one for a while. That is rare.
TEST(AutoLearns, AShortLoopIsNotTakenForALateOneBecauseOfTheClock) {
#ifndef NDEBUG
  GTEST_SKIP() << "needs an optimised build: else its iterations take longer than the reading of the clock";
#endif
  std::ptrdiff_t most = 0;
  for (int tries = 0; tries < 3 && most <= 1000; ++tries) most = std::max(most, calls_in_few_blocks());
  EXPECT_GT(most, 1000);
}

TEST(AutoLearns, OneLongTimeAloneDoesNotMakeALoopForkAgain) {
  detail::loop_record record;
  record.begin_call();
  record.learn_alone(1);
  record.begin_call();
  record.learn_alone(1);
  record.serial_until = 1000;
  for (const double alone : {10., 1.}) {
    record.begin_call();
    record.learn_alone(alone);
    EXPECT_FALSE(record.may_fork());
  }
  for (const double alone : {10., 10.}) {
    EXPECT_FALSE(record.may_fork());
    ASSERT_TRUE(record.begin_call());
    record.learn_alone(alone);
  }
  EXPECT_TRUE(record.may_fork()) << "the second call confirms that the loop has changed";
}

TEST(AutoLearns, OfTwoTimesAloneThatDisagreeTheShorterHolds) {
  detail::loop_record record;
  for (const double alone : {10., 10., 1000., 10., 1., 10.}) {
    record.begin_call();
    record.learn_alone(alone);
  }
  EXPECT_EQ(record.alone_ns, 1);
  EXPECT_EQ(record.iteration_alone_ns(5), 1);
  EXPECT_EQ(record.iteration_alone_ns(0.5), 0.5) << "measured in blocks: alone it takes no longer";
}

TEST(AutoLearns, ATimeWithoutForksThatIsOverDoesNotComeBackWhenTheCountOfCallsWraps) {
  detail::loop_record record;
  record.serial_until = 33;
  for (int call = 0; call < 64; ++call) record.begin_call();
  record.calls = 33 + (1U << 31);
  EXPECT_TRUE(record.may_fork());
}

TEST(AutoLearns, ALoopThatBecomesDearForksAgain) {
  if (usable_cores() < 2) GTEST_SKIP() << "needs two cores";
  any_team crew = make_team(2);
  seen_loop seen;
  std::int64_t each = 0;
  const std::string name = new_name();
  const auto eight_calls = [&] {
    counters_of_calls counters;
    for (int i = 0; i < 8; ++i) {
      parallel_for(crew, 0, 4, [&](int) { busy_for(each); },
                   {.name = name.c_str(), .statistics = &seen.statistics});
      counters.add(seen);
    }
    return counters;
  };
  EXPECT_EQ(eight_calls().fewest, 0U);
  each = 20'000;
  EXPECT_GT(eight_calls().most, 0U);
}

/// A team that runs all shares on its caller, and counts the rounds that were for more than one thread. So it does not matter whether the
/// machine has a second core to spare.
struct counting_team {
  std::size_t rounds = 0;
  static std::size_t num_threads() noexcept { return 2; }
  outcome work(std::size_t threads, worker_ref worker) {
    rounds += threads > 1;
    for (std::size_t id = 0; id < threads; ++id) worker(id);
    return outcome::done;
  }
};

/// Of 20 expensive calls of a wrapper that was called with cheap iterations before, those that are divided. The first `cheap_first`
/// iterations of an expensive call are cheap.
int divided_calls_of_a_wrapper(std::size_t n, std::size_t cheap_first) {
  counting_team team;
  int divided = 0;
  for (int call = 0; call < 20; ++call) {
    std::int64_t each = 0;
    const auto wrapped = [&](std::size_t i) { busy_for(i < cheap_first ? 0 : each); };
    const std::string name = "wrapper of " + std::to_string(n);
    const auto loop = [&] { parallel_for(team, std::size_t{0}, n, wrapped, {.name = name.c_str()}); };
    for (int cheap = 0; cheap < 10; ++cheap) loop();
    each = static_cast<std::int64_t>(2'000'000 / n);
    const std::size_t before = team.rounds;
    loop();
    divided += team.rounds > before;
  }
  return divided;
}

// If another program takes the core in a cheap call that is timed, the next loop is taken for what it is, and not divided.
TEST(AutoLearns, ExpensiveCallsOfAWrapperAreDividedAfterCheapOnes) {
  if (usable_cores() < 2) GTEST_SKIP() << "needs two cores";
  EXPECT_GE(divided_calls_of_a_wrapper(300, 0), 15);
  EXPECT_GE(divided_calls_of_a_wrapper(100, 1), 15) << "that begin cheaply";
  EXPECT_GE(divided_calls_of_a_wrapper(3, 0), 15) << "of three iterations";
}

/// Calls until one is timed, whose blocks took that.
void next_sample(detail::loop_record& record, double mean_ns, double spread) {
  while (!record.begin_call()) {
  }
  record.learn(mean_ns, spread);
}

TEST(AutoLearns, ASampleThatIsAnOutlierIsBelievedForOneCall) {
  detail::loop_record record;
  for (int sample = 0; sample < 6; ++sample) next_sample(record, 100, 0.1);
  while (!record.begin_call()) {
  }
  EXPECT_FALSE(record.learn(5000, 1));
  EXPECT_EQ(record.iteration_ns, 5000);
  ASSERT_TRUE(record.begin_call());
  EXPECT_TRUE(record.learn(100, 0.1));
  EXPECT_EQ(record.iteration_ns, 100);
  EXPECT_FLOAT_EQ(record.spread, 0.1F);
  EXPECT_FALSE(record.begin_call());
}

TEST(AutoLearns, AnOutlierLeavesALoopOneThatIsVisitedOften) {
  detail::loop_record record;
  const auto ticks_of = [](double ns) { return static_cast<std::uint64_t>(ns / ns_per_tick()); };
  std::uint64_t now = 1;
  for (int call = 0; call < 100; ++call) {
    const bool timed = record.begin_call();
    if (timed) record.learn_interval(now);
    EXPECT_TRUE(call <= 32 || record.is_visited_often()) << "call " << call;
    const bool outlier = call == 64;
    now += ticks_of(outlier ? 4e6 : 12e3);
    if (timed) record.learn(outlier ? 4000 : 10, 0.1);
  }
}

TEST(AutoLearns, APauseThatIsNoHabitOfTheProgramIsNoInterval) {
  const auto ticks_of = [](double ns) { return static_cast<std::uint64_t>(ns / ns_per_tick()); };
  for (const bool said : {true, false}) {
    detail::loop_record record;
    std::uint64_t now = 1;
    for (int call = 0; call < 100; ++call) {
      if (call == 40) now += ticks_of(30e6);
      if (call == 40 && said) record.forget_interval();
      if (record.begin_call()) record.learn_interval(now);
      now += ticks_of(12e3);
      EXPECT_TRUE(call != 60 || record.is_visited_often() == said);
    }
    EXPECT_TRUE(record.is_visited_often()) << "as in the end calls follow closely";
  }
}

TEST(AutoLearns, ALoopThatChangesAtEachCallIsNotTimedAtEach) {
  detail::loop_record record;
  int timed = 0;
  for (int call = 0; call < 1600; ++call)
    if (record.begin_call()) record.learn(++timed % 2 ? 100 : 1000, 0.1);
  EXPECT_LE(timed, 1600 / 16 * 2 + 5);
}

TEST(AutoLearns, EverySiteHasARecordOfItsOwnAndTheFirstOnesLieInOnePage) {
  const auto page_of = [](const detail::loop_record* one) {
    return reinterpret_cast<std::uintptr_t>(one) / 4096;
  };
  std::set<detail::loop_record*> records;
  std::set<std::uintptr_t> pages;
  for (std::uint64_t number = 1; number <= 600; ++number) {
    const std::uint64_t site = number * 0x9e3779b97f4a7c15U | 1;  // spread evenly
    detail::loop_record* const one = detail::find_record(site);
    ASSERT_NE(one, nullptr);
    EXPECT_EQ(one, detail::find_record(site));
    EXPECT_TRUE(records.insert(one).second);
    if (number <= 20) pages.insert(page_of(one));
  }
  EXPECT_EQ(pages.size(), 1U);
}

constexpr double serial_ns = 1e6;

/// Forks of a loop one after the other; each took so many times its serial time.
void fork_for(detail::loop_record& record, std::initializer_list<double> times) {
  for (const double time : times) {
    record.begin_call();
    record.learn_gain(time * serial_ns, serial_ns);
  }
}

TEST(AutoLearns, TwoForksThatDoNotPayEndForkingForAWhile) {
  detail::loop_record record;
  fork_for(record, {1.3});
  EXPECT_TRUE(record.may_fork());
  fork_for(record, {1.3});
  EXPECT_FALSE(record.may_fork());
  for (int call = 0; call < 66; ++call) record.begin_call();
  EXPECT_TRUE(record.may_fork());
  fork_for(record, {1.1});
  EXPECT_FALSE(record.may_fork());
}

TEST(AutoLearns, ForksThatDoNotPayForAShortLoopDoNotKeepALongOneAtThatPlaceFromForking) {
  detail::loop_record record;
  fork_for(record, {1.3, 1.3});
  EXPECT_FALSE(record.may_fork(serial_ns));
  EXPECT_TRUE(record.may_fork(100 * serial_ns));
}

TEST(AutoLearns, ALoopThatBecameAnotherIsNotKeptAloneByWhatItWas) {
  detail::loop_record record;
  record.learn(1, 0.1);
  record.decide(1000, 1);
  record.learn(1.5, 0.1);
  EXPECT_EQ(record.decided.load().threads, 1U);
  record.learn(20'000, 0.1);
  EXPECT_EQ(record.decided.load().threads, 0U);
}

TEST(AutoLearns, ForksThatDoNotPayAreNoLongerDecided) {
  detail::loop_record record;
  fork_for(record, {1.3});
  record.decide(1000, 2);
  record.learn_gain(1.3 * serial_ns, serial_ns);
  EXPECT_FALSE(record.may_fork());
  EXPECT_EQ(record.decided.load().threads, 0U);
}

// The caller took the late share of the first two: next to a runtime that spins, they are the first forks of a loop in one launch of six.
TEST(AutoLearns, ForksThatLoseLittleDoNotEndForking) {
  detail::loop_record record;
  fork_for(record, {1.05, 1.05});
  EXPECT_TRUE(record.may_fork());
  fork_for(record, {0.65, 1.05, 1.05, 0.65});
  EXPECT_TRUE(record.may_fork());
  for (int call = 0; call < 10; ++call) fork_for(record, {1.05});
  EXPECT_TRUE(record.may_fork()) << "saved before";
  for (int call = 0; call < 30; ++call) fork_for(record, {1.05});
  EXPECT_FALSE(record.may_fork()) << "by now they have lost half of a serial time";
}

TEST(AutoLearns, TwoLateJoinsAmongManyForksThatPayDoNotEndForking) {
  detail::loop_record record;
  for (int call = 0; call < 16; ++call) fork_for(record, {0.53});
  fork_for(record, {3.3, 3.2});
  EXPECT_TRUE(record.may_fork());
  fork_for(record, {3.3, 3.2});
  EXPECT_FALSE(record.may_fork()) << "by now they lose time in the mean";
}

TEST(AutoLearns, AFirstCallFindsItsBlock) {
  if (usable_cores() < 2) GTEST_SKIP() << "needs two cores";
  any_team crew = make_team(2);
  seen_loop seen;
  parallel_for(crew, 0, 4'000'000, [](int) { asm volatile(""); }, {.statistics = &seen.statistics});
  EXPECT_GT(seen.statistics.block, 100U);
  EXPECT_LT(seen.statistics.claims, 40'000U);
}

// The thread that made the team is left with one CPU; the loop is not.
TEST(AutoLearns, APinnedTeamForks) {
  if (usable_cores() < 2) GTEST_SKIP() << "needs two cores";
  any_team crew = make_team(2, "spin", {.pin = true});
  seen_loop seen;
  parallel_for(crew, 0, 20, [](int) {}, {.statistics = &seen.statistics});
  EXPECT_EQ(seen.statistics.threads, 2U);
}

TEST(AutoLearns, DifferentBodiesAtOnePlaceAreDifferentLoops) {
  if (usable_cores() < 2) GTEST_SKIP() << "needs two cores";
  any_team crew = make_team(2);
  const auto later_calls = [&](auto body) {
    counters_of_calls counters;
    for (int call = 0; call < 100; ++call) {
      seen_loop seen;
      parallel_for(crew, 0, 4, body, {.statistics = &seen.statistics});
      if (call > 0) counters.add(seen);
    }
    return counters;
  };
  EXPECT_EQ(later_calls([](int) {}).fewest, 0U);
  EXPECT_GT(later_calls([](int) { busy_for(20'000); }).most, 0U);
}

// Iterations that sleep need no core, so that forks pay whoever else uses the machine.
TEST(AutoLearns, ATeamOfOneAtTheSamePlaceDoesNotKeepALargerOneFromForking) {
  if (usable_cores() < 2) GTEST_SKIP() << "needs two cores";
  any_team one = make_team(1);
  any_team two = make_team(2);
  int forked = 0;
  for (int call = 0; call < 24; ++call) {
    std::atomic<bool> other{false};
    const auto body = [&](int) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      if (thread_num() == 1) other = true;
    };
    parallel_for(call % 2 == 0 ? one : two, 0, 4, body);
    forked += call % 2 == 1 && other;
  }
  EXPECT_GT(forked, 3);
}

}  // namespace
}  // namespace corescale::test
