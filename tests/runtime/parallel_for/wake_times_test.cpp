// SPDX-License-Identifier: Apache-2.0
// What loops that wake their team tell the next ones, and what it changes.
#include "wake_times.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <list>
#include <string>
#include <thread>

#include "corescale/parallel_for/block_policy.hpp"
#include "corescale/parallel_for/parallel_for.hpp"
#include "pretended_teams.hpp"

namespace corescale::test {
namespace {

using detail::wake_times;
using namespace std::chrono_literals;

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

TEST(WakeTimes, OfATeamThatNobodyWakesReturnToTheConstantsAndNoFurther) {
  wake_times known;
  tell(known, 1000, 1e9);
  known.doubt(one_team);
  EXPECT_LT(known.of(one_team), most);
  EXPECT_GT(known.of(one_team), 0.98 * most);
  for (int loop = 0; loop < 300; ++loop) known.doubt(one_team);
  EXPECT_EQ(known.of(one_team), 1);
  tell(known, 10, 0);
  const double below = known.of(one_team);
  known.doubt(one_team);
  EXPECT_EQ(known.of(one_team), below);
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

/// Forks every loop, notes what it was told, and counts those that may tell: neither first calls nor such as follow closely.
double told_wake_times = 0;
int may_tell = 0;
loop_plan note(const loop_description& loop) {
  told_wake_times = loop.wake_times;
  may_tell += loop.iteration_ns > 0 && !loop.hot;
  return one_share_each(loop);
}
constexpr block_policy noting{"noting", "", note, false, true};

/// Stays alone where waking was told to be dearer than the constants say.
loop_plan stay(const loop_description& loop) { return loop.wake_times > 1 ? loop_plan{} : note(loop); }
constexpr block_policy staying{"staying", "", stay, false, true};

/// Stays alone whatever it was told.
loop_plan never(const loop_description& /*loop*/) { return {}; }
constexpr block_policy alone{"alone", "", never, false, true};

loop_plan with_one_thread(const loop_description& loop) {
  return {.threads = 1, .counters = 1, .largest = loop.n};
}
constexpr block_policy one_thread{"one_thread", "", with_one_thread, false, true};

/// A team where none has been in this process, also where a test is repeated.
template <class Team>
Team& new_team(Team like) {
  static std::list<Team> all;
  return all.emplace_back(like);
}

/// A name that no loop of this process has had.
std::string new_name() {
  static int names = 0;
  return "wakes " + std::to_string(++names);
}

/// Two timed calls of each of so many loops, of which the second may tell: a third might stay alone, as the first two did not pay.
/// The first iteration takes that long.
template <class Team>
void told_by(Team& crew, int loops, std::chrono::milliseconds first, const block_policy& policy = noting) {
  std::array<loop_share, 2> shares{};
  loop_statistics timed{.shares = shares};
  const auto body = [&](int i) {
    if (i == 0) std::this_thread::sleep_for(first);
  };
  for (int loop = 0; loop < loops; ++loop) {
    const std::string name = new_name();
    for (int call = 0; call < 2; ++call)
      parallel_for(crew, 0, 2, body, {.policy = &policy, .name = name.c_str(), .statistics = &timed});
  }
}

/// Calls of so many loops, one of each.
template <class Team>
void first_calls(Team& crew, int loops, const block_policy& policy) {
  for (int loop = 0; loop < loops; ++loop)
    parallel_for(crew, 0, 2, [](int) {}, {.policy = &policy, .name = new_name().c_str()});
}

/// What a loop is told that nobody has run before.
template <class Team>
double told_of(Team& crew) {
  first_calls(crew, 1, noting);
  return told_wake_times;
}

loop_plan plan(const loop_description& loop) { return find_block_policy("auto")->plan(loop); }

auto parts_of(const loop_plan& one) {
  return std::array<std::uint64_t, 7>{one.threads, one.counters, one.largest, one.smallest,
                                      one.divisor, one.by_group, one.steal};
}

TEST(WakeTimes, LongLoopsOfATeamThatSpinsTellNothing) {
  late_team& crew = new_team(late_team{.sleeps = false, .late = 2ms});
  told_by(crew, 20, 2ms);
  EXPECT_EQ(told_of(crew), 1);
}

TEST(WakeTimes, LongLoopsThatWakeTheirTeamTellItsNextOnesAndNoOthersButForAFirstCall) {
  late_team &crew = new_team(late_team{.late = 2ms}), &other = new_team(late_team{.late = 2ms});
  told_by(crew, 20, 0ms);
  EXPECT_NEAR(told_of(crew), std::pow(1.025, 20), 1e-3);
  EXPECT_EQ(told_of(other), 1);
}

// They take 2 ms, but no thread of theirs waits for anything but the machine.
TEST(WakeTimes, OfATeamThatIsThereAtOnceFallHoweverLongItsLoopsAre) {
  thread_for_two& crew = new_team(thread_for_two{});
  told_by(crew, 40, 2ms);
  EXPECT_LT(told_of(crew), 0.9);
}

TEST(WakeTimes, LoopsOfOneThreadTellNothing) {
  thread_for_two& crew = new_team(thread_for_two{});
  told_by(crew, 20, 2ms, one_thread);
  EXPECT_EQ(told_of(crew), 1);
}

// Where the machine came between their calls they do not follow closely: others are tried.
TEST(WakeTimes, LoopsThatFollowCloselyTellNothing) {
  for (int tries = 0; tries < 50; ++tries) {
    thread_for_two& crew = new_team(thread_for_two{});
    may_tell = 0;
    told_by(crew, 20, 0ms);
    if (may_tell > 0) continue;
    EXPECT_EQ(told_of(crew), 1);
    return;
  }
  GTEST_SKIP() << "not decided: the machine came between the calls of each of fifty loops";
}

TEST(WakeTimes, ThatKeepLoopsAloneAreDoubtedUntilTheseWakeTheTeamAgain) {
  late_team& crew = new_team(late_team{.late = 2ms});
  told_by(crew, 4, 0ms);
  const double dear = told_of(crew);
  EXPECT_NEAR(dear, std::pow(1.025, 4), 1e-3);
  first_calls(crew, 25, alone);
  EXPECT_EQ(told_of(crew), dear) << "the constants too would have left them alone";
  first_calls(crew, 10, staying);
  EXPECT_NEAR(told_of(crew), dear * std::pow(0.995, 10), 1e-3);
  first_calls(crew, 15, staying);
  EXPECT_EQ(told_of(crew), 1);
}

// The tiny loop is planned with what it was told behind forty long ones, whatever these took.
TEST(WakeTimes, LongLoopsBeforeATinyLoopDoNotChangeItsPlan) {
  late_team& crew = new_team(late_team{.late = 2ms});
  told_by(crew, 40, 0ms);
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
  loop.hot = true;
  EXPECT_GT(plan(loop).counters, 0U);
  EXPECT_FALSE(plan(loop).steal);
}

}  // namespace
}  // namespace corescale::test
