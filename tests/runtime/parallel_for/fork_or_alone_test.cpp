// SPDX-License-Identifier: Apache-2.0
// Whether `auto` finds out that a loop is faster on its caller, and what it pays for that.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <initializer_list>
#include <random>
#include <string>
#include <thread>

#include "corescale/machine/clock.hpp"
#include "corescale/machine/topology.hpp"
#include "corescale/parallel_for/parallel_for.hpp"
#include "corescale/team/any_team.hpp"
#include "learned.hpp"

namespace corescale::test {
namespace {

/// Calls of a loop whose iterations are equal, with times that are given.
struct planted_loop {
  static constexpr double n = 6400;
  double alone;      ///< ns of the whole loop on its caller
  double in_blocks;  ///< and the sum of the blocks of a fork, which is more if the threads disturb each other
  double forked;     ///< from the fork to the join
  double noise = 1;  ///< the times of forks and their blocks are up to so many times longer or shorter
  double wake = 0;   ///< what a fork takes longer if the threads sleep
  double fetch =
      0;  ///< what a fork takes longer if the call before was alone, and its data is in the caller's cache

  detail::loop_record record{};
  int forks = 0;
  double spent = 0;
  double awake_until = 0;
  bool was_alone = false;
  std::mt19937 draw{1};

  void call(int times) {
    for (int one = 0; one < times; ++one) call();
  }

 private:
  void call() {
    const bool timed = record.begin_call();
    if (timed) record.learn_interval(static_cast<std::uint64_t>((1 + spent) / ns_per_tick()));
    if (!record.may_fork(record.iteration_alone_ns(record.iteration_ns) * n)) {
      run_alone(timed);
    } else if (timed && record.wants_race()) {
      race(record.forked_ns(n));
    } else {
      fork(timed);
    }
  }

  void run_alone(bool timed) {
    was_alone = true;
    spent += alone;
    if (timed) record.learn_alone(alone / n);
  }

  void fork(bool timed) {
    ++forks;
    const double now = std::pow(noise, std::uniform_real_distribution<>(-1, 1)(draw));
    const double elapsed = now * forked + (spent > awake_until ? wake : 0) + (was_alone ? fetch : 0);
    was_alone = false;
    spent += elapsed;
    awake_until = spent + std::chrono::nanoseconds(team_options::usual_spin_for).count();
    const bool searches = record.iteration_ns <= 0;
    if (timed && record.learn(now * in_blocks / n, 0.1) && !searches)
      record.learn_gain(elapsed, n * record.iteration_alone_ns(now * in_blocks / n));
  }

  void race(double to_beat) {
    for (double share = 1. / 64; share < 1; share += 1. / 64) {
      if (!record.is_beaten(share * alone, share, to_beat)) continue;
      spent += share * alone + (1 - share) * forked;
      return record.learn_beaten();
    }
    run_alone(true);
  }
};

constexpr std::initializer_list<double> lengths = {2e3, 2e4, 2e5, 2e6, 2e7};

// As an atomic histogram: threads take each other's cache lines, or wait for each other's lock.
TEST(ForkOrAlone, ALoopThatIsFastestOnItsCallerIsNotForked) {
  for (const double alone : lengths)
    for (const double times : {1.7, 5., 50.})
      for (const double noise : {1., 2.}) {
        planted_loop loop{alone, 2 * times * alone, times * alone, noise};
        loop.call(1000);
        const double before = loop.spent;
        loop.call(20'000);
        EXPECT_LE(before, 1000 * alone + 80 * loop.forked) << alone << " ns, " << times << ", " << noise;
        EXPECT_LE(loop.spent - before, 1.03 * 20'000 * alone) << alone << " ns, " << times << ", " << noise;
      }
}

TEST(ForkOrAlone, RacesCostALoopThatGainsFromForksNothing) {
  for (const double alone : lengths)
    for (const double threads : {2., 64.}) {
      planted_loop loop{alone, 1.3 * alone, alone / threads + 500};
      loop.call(16);
      const double before = loop.spent;
      loop.call(2560);
      EXPECT_LE(loop.spent - before, 1.01 * 2560 * loop.forked) << alone << " ns on " << threads;
      EXPECT_GE(loop.forks, 2550);
    }
}

TEST(ForkOrAlone, ALoopThatIsWorthAForkAgainIsForkedAgain) {
  for (const double alone : lengths) {
    planted_loop loop{alone, 10 * alone, 5 * alone};
    loop.call(2000);
    loop.in_blocks = alone;
    loop.forked = 0.55 * alone;
    loop.call(1000);
    const int forks = loop.forks;
    loop.call(1000);
    EXPECT_GE(loop.forks, forks + 990) << alone;
  }
}

TEST(ForkOrAlone, AShortLoopIsForkedAgainThoughItsThreadsSleepMeanwhile) {
  for (const double alone : {1e3, 4e3, 16e3}) {
    planted_loop loop{.alone = alone, .in_blocks = alone, .forked = 30 * alone, .wake = 30'000};
    loop.call(8000);
    loop.forked = 0.6 * alone;
    loop.call(20'000);
    const int forks = loop.forks;
    loop.call(1000);
    EXPECT_GE(loop.forks, forks + 990) << alone;
  }
}

TEST(ForkOrAlone, ForksThatLoseWhileTheThreadsWakeUpAreTriedAgainSoon) {
  planted_loop loop{.alone = 2000, .in_blocks = 2000, .forked = 12'000};
  loop.call(10);
  loop.forked = 1200;
  loop.call(190);
  EXPECT_GE(loop.forks, 100);
}

TEST(ForkOrAlone, ATryIsNotJudgedByTheFirstForkThatFetchesItsData) {
  planted_loop loop{.alone = 1400, .in_blocks = 1400, .forked = 11'000, .fetch = 1000};
  loop.call(200);
  loop.forked = 900;
  loop.call(10'000);
  const int forks = loop.forks;
  loop.call(1000);
  EXPECT_GE(loop.forks, forks + 990);
}

TEST(ForkOrAlone, ALoopThatChangesAtEachSampleDoesNotRace) {
  detail::loop_record record;
  int timed = 0;
  for (int call = 0; call < 1600; ++call) {
    if (!record.begin_call()) continue;
    EXPECT_FALSE(record.wants_race());
    const double mean = ++timed % 2 ? 100 : 1000;
    if (record.learn(mean, 0.1)) record.learn_gain(mean, 2 * mean);
  }
}

TEST(ForkOrAlone, ARaceThatIsLostAfterOneThatWasWonIsRunAgain) {
  planted_loop loop{1000, 1000, 850};
  loop.call(100);
  ASSERT_GT(loop.record.alone_ns, 0);
  while (!loop.record.begin_call() || !loop.record.wants_race()) {
  }
  loop.record.learn_beaten();
  EXPECT_GT(loop.record.alone_ns, 0);
  ASSERT_TRUE(loop.record.begin_call() && loop.record.wants_race());
  loop.record.learn_beaten();
  EXPECT_LT(loop.record.alone_ns, 0);
  EXPECT_EQ(loop.record.iteration_alone_ns(5), 5);
}

TEST(ForkOrAlone, AForkInDoubtNeitherStartsARaceNorConfirmsOne) {
  planted_loop loop{1000, 1000, 850};
  loop.call(100);
  const float alone = loop.record.alone_ns;
  ASSERT_GT(alone, 0);
  const auto call_after_an_outlier = [&](double mean_ns) {
    while (!loop.record.begin_call()) {
    }
    EXPECT_FALSE(loop.record.learn(mean_ns, 0.1));
    EXPECT_TRUE(loop.record.begin_call());
  };
  call_after_an_outlier(10);
  EXPECT_FALSE(loop.record.wants_race());
  loop.record.learn_beaten();
  EXPECT_EQ(loop.record.alone_ns, alone);
  call_after_an_outlier(100);
  loop.record.learn_alone(10);
  EXPECT_TRUE(loop.record.begin_call()) << "the first time alone that differs must be confirmed";
}

TEST(ForkOrAlone, ALoopThatTakesLongerIsNotComparedWithItsTimeAloneBefore) {
  for (const double alone : lengths)
    for (const double times : {5., 50.}) {
      planted_loop loop{alone, 1.1 * alone, 0.85 * alone};
      loop.call(300);
      ASSERT_GT(loop.record.alone_ns, 0);
      for (double* const time : {&loop.alone, &loop.in_blocks, &loop.forked}) *time *= times;
      const int forks = loop.forks;
      loop.call(200);
      EXPECT_GE(loop.forks, forks + 195) << alone << " ns, " << times;
    }
}

TEST(ForkOrAlone, OneTryThatTakesVeryLongByChanceDoesNotPutOffTheNext) {
  detail::loop_record record;
  const auto fork = [&](double times) {
    record.begin_call();
    record.learn_gain(times * 2000, 2000);
  };
  for (const double times : {1.3, 1.3, 1000.}) {
    while (!record.may_fork()) record.begin_call();
    fork(times);
  }
  int calls = 0;
  for (; !record.may_fork(); ++calls) record.begin_call();
  EXPECT_LE(calls, 256);
}

/// How many of 20 late calls of a loop run on two threads, if an iteration takes long behind one of the other thread.
int shared_calls_of_a_contended_loop() {
  any_team crew = make_team(2);
  static int loops = 0;
  const std::string name = "contended loop " + std::to_string(++loops);
  std::atomic<std::size_t> last{0};
  int shared = 0;
  for (int call = 0; call < 60; ++call) {
    std::atomic<bool> other{false};
    const auto body = [&](int) {
      if (thread_num() == 1) other = true;
      const bool moved = last.exchange(thread_num()) != thread_num();
      std::this_thread::sleep_for(std::chrono::microseconds(moved ? 20'000 : 100));
    };
    parallel_for(crew, 0, 8, body, {.name = name.c_str()});
    shared += call >= 40 && other;
  }
  return shared;
}

// Iterations that sleep need no core, so that who else uses the machine matters little.
TEST(ForkOrAlone, ALoopWhoseThreadsDisturbEachOtherEndsOnItsCaller) {
  if (usable_cores() < 2) GTEST_SKIP() << "needs two cores";
  int fewest = 20;
  for (int tries = 0; tries < 3 && fewest >= 10; ++tries)
    fewest = std::min(fewest, shared_calls_of_a_contended_loop());
  EXPECT_LT(fewest, 10);
}

}  // namespace
}  // namespace corescale::test
