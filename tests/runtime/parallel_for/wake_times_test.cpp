// SPDX-License-Identifier: Apache-2.0
// What loops that wake their team tell the next ones, and what it changes.
#include "wake_times.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>

#include "corescale/parallel_for/block_policy.hpp"
#include "corescale/parallel_for/parallel_for.hpp"
#include "corescale/team/team.hpp"

namespace corescale::test {
namespace {

using detail::wake_times;

constexpr double most = wake_times::most_times;

const std::array<char, 4096> addresses{};
constexpr wake_times::team one_team{addresses.data(), 2};
constexpr wake_times::team another{addresses.data() + 64, 2};

void tell(wake_times& known, int loops, double times) {
  for (int loop = 0; loop < loops; ++loop) known.learn(one_team, times);
}

TEST(WakeTimes, AreThoseOfTheConstantsUntilALoopHasTold) {
  wake_times known;
  EXPECT_EQ(known.of(one_team), 1);
  tell(known, 200, 2.5);
  EXPECT_NEAR(known.of(one_team), 2.5, 0.25);
  tell(known, 200, 0.5);
  EXPECT_NEAR(known.of(one_team), 0.5, 0.05);
}

TEST(WakeTimes, ASingleLoopHowLateEverMovesThemByAFewPerCent) {
  wake_times known;
  tell(known, 1, 1e9);
  EXPECT_LT(known.of(one_team), 1.05);
  tell(known, 2, 0);
  EXPECT_GT(known.of(one_team), 0.8);
}

TEST(WakeTimes, AreOfTheUndisturbedLoopsWhereTwoOfThreeAreDisturbed) {
  wake_times known;
  for (int loop = 0; loop < 300; ++loop) known.learn(one_team, loop % 3 == 0 ? 0.6 : 30);
  EXPECT_NEAR(known.of(one_team), 0.6, 0.1);
}

TEST(WakeTimes, AreBoundedAndForgetALoadOnceItIsOver) {
  wake_times known;
  tell(known, 1000, 1e9);
  EXPECT_FLOAT_EQ(known.of(one_team), most);
  tell(known, 25, 1);
  EXPECT_NEAR(known.of(one_team), 1, 0.1);
  tell(known, 1000, 0);
  EXPECT_FLOAT_EQ(known.of(one_team), 1 / most);
  tell(known, 60, 1);
  EXPECT_NEAR(known.of(one_team), 1, 0.1);
}

TEST(WakeTimes, OfOneTeamAreNotAnothers) {
  wake_times known;
  tell(known, 100, 3);
  EXPECT_EQ(known.of({one_team.where, 3}), 1);
  for (std::size_t place = 1; place < addresses.size(); ++place)
    EXPECT_EQ(known.of({&addresses.at(place), 2}), 1);
  known.learn(another, 3);
  EXPECT_LT(known.of(another), 1.05);
}

TEST(WakeTimes, AnyThreadsMayReadAndWriteAtOnce) {
  wake_times known;
  const auto use = [&](double times) {
    for (int loop = 0; loop < 2000; ++loop) {
      known.learn(loop % 2 ? one_team : another, times);
      const double seen = known.of(one_team);
      EXPECT_TRUE(seen >= 1 / most && seen <= most) << seen;
    }
  };
  std::thread up(use, 100), down(use, 0.01);
  up.join();
  down.join();
}

/// A team of two that starts its second thread for each round, and says of itself what it is told to.
struct pretended_team {
  bool sleeps = false;
  static std::size_t num_threads() { return 2; }
  static outcome work(std::size_t k, worker_ref worker) {
    std::thread other([&] {
      if (k > 1) worker(1);
    });
    worker(0);
    other.join();
    return outcome::done;
  }
  bool asleep(std::size_t) const { return sleeps; }
};

/// Forks every loop, and notes what it was told.
double told_wake_times = 0;
loop_plan note(const loop_description& loop) {
  told_wake_times = loop.wake_times;
  return {.threads = 2, .counters = 2, .largest = loop.n, .steal = true};
}
constexpr block_policy noting{"noting", "", note, false, true};

void long_loops(pretended_team& crew, int loops) {
  std::array<loop_share, 2> shares{};
  loop_statistics timed{.shares = shares};
  for (int loop = 0; loop < loops; ++loop)
    parallel_for(crew, 0, 2, [](int) { std::this_thread::sleep_for(std::chrono::milliseconds(1)); },
                 {.policy = &noting, .statistics = &timed});
}

/// What a loop is told that nobody has run before.
double told_of(pretended_team& crew) {
  static int loops = 0;
  const std::string name = "told " + std::to_string(++loops);
  parallel_for(crew, 0, 2, [](int) {}, {.policy = &noting, .name = name.c_str()});
  return told_wake_times;
}

loop_plan plan(const loop_description& loop) { return find_block_policy("auto")->plan(loop); }

auto parts_of(const loop_plan& one) {
  return std::array<std::uint64_t, 7>{one.threads, one.counters, one.largest, one.smallest,
                                      one.divisor, one.by_group, one.steal};
}

TEST(WakeTimes, LongLoopsOfATeamThatSpinsTellNothing) {
  static pretended_team crew;
  long_loops(crew, 20);
  EXPECT_EQ(told_of(crew), 1);
}

TEST(WakeTimes, LongLoopsThatWakeTheirTeamTellItsNextOnesAndNoOthers) {
  static pretended_team crew{true}, other{true};
  long_loops(crew, 20);
  EXPECT_NE(told_of(crew), 1);
  EXPECT_GE(told_of(crew), 1 / most);
  EXPECT_LE(told_of(crew), most);
  EXPECT_EQ(told_of(other), 1);
}

// The tiny loop is planned with what it was told behind forty long ones, whatever these took.
TEST(WakeTimes, LongLoopsBeforeATinyLoopDoNotChangeItsPlan) {
  static pretended_team crew{true};
  long_loops(crew, 40);
  loop_description tiny{.n = 1024, .threads = 2, .cores = 2, .iteration_ns = 1.37, .spread = 0.1};
  for (const bool hot : {true, false}) {
    tiny.hot = hot;
    tiny.wake_times = 1;
    const auto before = parts_of(plan(tiny));
    EXPECT_EQ(plan(tiny).counters, hot ? 2U : 0U);
    for (const double told : {told_of(crew), most, 1 / most}) {
      tiny.wake_times = told;
      EXPECT_EQ(parts_of(plan(tiny)), before) << told << " hot " << hot;
    }
  }
}

TEST(WakeTimes, DecideWhetherALoopThatIsRarelyVisitedPaysForAFork) {
  loop_description loop{.n = 1000, .threads = 2, .cores = 2, .iteration_ns = 30, .spread = 0.1};
  EXPECT_GT(plan(loop).counters, 0U);
  loop.wake_times = most;
  EXPECT_EQ(plan(loop).counters, 0U);
  loop.n = 300;
  EXPECT_EQ(plan(loop).counters, 0U);
  loop.wake_times = 1 / most;
  EXPECT_GT(plan(loop).counters, 0U);
}

// Who is woken begins late: what it has not begun, others take over.
TEST(WakeTimes, ALoopThatWakesItsTeamIsNotDividedIntoShares) {
  loop_description loop{.n = 1024, .threads = 2, .cores = 2, .iteration_ns = 10, .spread = 0};
  loop.wake_times = 1 / most;
  EXPECT_GT(plan(loop).counters, 0U);
  EXPECT_TRUE(plan(loop).steal);
}

}  // namespace
}  // namespace corescale::test
