// SPDX-License-Identifier: Apache-2.0
// The parts that threading systems are made of.
#include <sched.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "corescale/machine/cpu_pause.hpp"
#include "corescale/machine/topology.hpp"
#include "corescale/team/message_ports.hpp"
#include "corescale/team/spin.hpp"
#include "foreign_threads.hpp"
#include "shared_core.hpp"
#include "systems_under_test.hpp"
#include "waiting.hpp"

namespace corescale::test {
namespace {

using namespace std::chrono_literals;
using detail::countdown_latch;
using detail::parking_word;

TEST(FunctionRef, CallsFunctionsLambdasAndConstObjects) {
  struct doubler {
    int operator()(int value) const { return 2 * value; }
  };
  const doubler twice;
  int (*plus_one)(int) = [](int value) { return value + 1; };
  const auto call = [](function_ref<int(int)> callable) { return callable(20); };
  EXPECT_EQ(call(twice), 40);
  EXPECT_EQ(call(plus_one), 21);
  EXPECT_EQ(call([offset = 3](int value) { return value + offset; }), 23);
}

TEST(ParkingWord, WakesThoseThatSpinAndThoseThatSleep) {
  for (const auto spin_for : {0ns, 10'000'000ns}) {
    parking_word word;
    std::vector<std::thread> waiting;
    std::atomic<int> awake{0};
    for (int thread = 0; thread < 3; ++thread)
      waiting.emplace_back([&] { word.await(7, spin_for), ++awake; });
    std::this_thread::sleep_for(5ms);
    word.publish(3);
    std::this_thread::sleep_for(5ms);
    EXPECT_EQ(awake, 0);
    word.publish(7);
    for (std::thread& one : waiting) one.join();
    EXPECT_EQ(awake, 3);
  }
}

TEST(ParkingWord, GivesUpWhenTheTimeIsOver) {
  parking_word word;
  EXPECT_FALSE(word.await_at_most(1, 5ms));
  word.publish(1);
  EXPECT_TRUE(word.await_at_most(1, 5ms));
}

TEST(CountdownLatch, OpensAtTheLastArrival) {
  countdown_latch latch(2);
  latch.arrive();
  EXPECT_FALSE(latch.wait_at_most(1ms));
  latch.arrive();
  latch.wait(0ns);
}

cpu_set_t allowed_cores() {
  cpu_set_t allowed;
  sched_getaffinity(0, sizeof allowed, &allowed);
  return allowed;
}

void stay_on(int core) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(core), &one);
  sched_setaffinity(0, sizeof one, &one);
}

std::vector<int> two_cores() {
  const cpu_set_t allowed = allowed_cores();
  std::vector<int> found;
  for (int core = 0; core < 256 && found.size() < 2; ++core)
    if (CPU_ISSET(static_cast<std::size_t>(core), &allowed)) found.push_back(core);
  return found;
}

/// Whether a thread that begins on `core` sees one that began on `beside` before it.
bool seen_on(int core, int beside, std::uint64_t round, std::uint64_t round_beside) {
  static const std::uint64_t team = detail::mark_of_a_team();
  const auto begin = [](int on, std::uint64_t number) {
    return std::async(std::launch::async, [=] { return stay_on(on), detail::shares_core(team, number); })
        .get();
  };
  begin(beside, round_beside);
  return begin(core, round);
}

/// How many of 20 waits of 20 us end by spinning, on a core that another thread wants all the time.
int waits_ended_by_spinning(std::chrono::nanoseconds keep_for) {
  stay_on(two_cores()[0]);
  std::atomic<bool> stop{false};
  std::thread other([&] {
    while (!stop) cpu_pause();
  });
  int ended = 0;
  for (int wait = 0; wait < 20; ++wait) {
    const auto end = std::chrono::steady_clock::now() + 20us;
    ended += detail::spin_until([&] { return std::chrono::steady_clock::now() >= end; }, 2ms, keep_for);
  }
  stop = true;
  other.join();
  return ended;
}

TEST(SpinUntil, KeepsACoreThatOthersWantOnlyForAsLongAsItIsTold) {
  const auto on_one_core = [](std::chrono::nanoseconds keep_for) {
    return std::async(std::launch::async, waits_ended_by_spinning, keep_for).get();
  };
  EXPECT_GE(on_one_core(1ms), 15);
  EXPECT_LE(on_one_core(0ns), 10);
}

TEST(SharedCore, TwoThreadsThatBeginARoundOnOneCoreAreSeen) {
  const std::vector<int> cores = two_cores();
  EXPECT_TRUE(seen_on(cores[0], cores[0], 7, 7));
  EXPECT_FALSE(seen_on(cores[0], cores[0], 9, 8));
  if (cores.size() < 2) GTEST_SKIP() << "one core: no thread can begin elsewhere";
  EXPECT_FALSE(seen_on(cores[0], cores[1], 10, 10));
}

TEST(SharedCore, WhatAnotherTeamLeftIsNotSeen) {
  std::thread([] {
    stay_on(two_cores()[0]);
    const std::uint64_t earlier = detail::mark_of_a_team(), later = detail::mark_of_a_team();
    detail::shares_core(earlier, 1000);
    EXPECT_FALSE(detail::shares_core(later, 1));
    EXPECT_FALSE(detail::shares_core(later, 2));
  }).join();
}

/// The core of a thread of a team before and after it looked for another one; what it is allowed is the same.
std::pair<int, int> cores_when_moved(bool may_leave) {
  return std::async(std::launch::async,
                    [=] {
                      const detail::awake_thread counted(may_leave);
                      const cpu_set_t allowed = allowed_cores();
                      stay_on(two_cores()[0]);
                      sched_setaffinity(0, sizeof allowed, &allowed);
                      const int before = sched_getcpu();
                      detail::find_another_core(1'000'000'000);
                      const int after = sched_getcpu();
                      const cpu_set_t allowed_after = allowed_cores();
                      EXPECT_TRUE(CPU_EQUAL(&allowed, &allowed_after));
                      return std::pair(before, after);
                    })
      .get();
}

TEST(SharedCore, AThreadOfATeamFindsAnotherOneAndKeepsItsAffinity) {
  if (two_cores().size() < 2) GTEST_SKIP() << "one core: there is no other";
  // Linux may move a thread back at any time.
  bool moved = false;
  for (int tries = 0; tries < 20 && !moved; ++tries) {
    const auto [before, after] = cores_when_moved(true);
    moved = before != after;
  }
  EXPECT_TRUE(moved);
}

// Linux may move any thread: what never moved it did not move a thread in one of some tries.
TEST(SharedCore, AThreadStaysWhereItsTeamWantsIt) {
  bool ever_stays = false;
  for (int tries = 0; tries < 20 && !ever_stays; ++tries) {
    const auto [before, after] = cores_when_moved(false);
    ever_stays = before == after;
  }
  EXPECT_TRUE(ever_stays);
}

/// The threads of a team, all put on the master's core, in the first of some rounds in which they are apart; 0 if in none.
int first_round_apart() {
  const auto team = spin_team::create(2);
  const cpu_set_t allowed = allowed_cores();
  static_cast<void>(team->work([&](std::size_t) {
    stay_on(two_cores()[0]);
    sched_setaffinity(0, sizeof allowed, &allowed);
  }));
  for (int round = 1; round <= 200; ++round) {
    std::array<int, 2> cores{};
    static_cast<void>(team->work([&](std::size_t id) {
      cores.at(id) = sched_getcpu();
      const auto end = std::chrono::steady_clock::now() + 100us;
      while (std::chrono::steady_clock::now() < end) {
      }
    }));
    if (cores[0] != cores[1]) return round;
  }
  return 0;
}

TEST(SharedCore, AWorkerLeavesItsMastersCore) {
  if (two_cores().size() < 2) GTEST_SKIP() << "one core: there is no other";
  EXPECT_GT(first_round_apart(), 0);
}

TEST(SharedCore, APinnedThreadStays) {
  std::thread([] {
    detail::may_be_moved();
    const int core = two_cores()[0];
    stay_on(core);
    detail::find_another_core(1'000'000'000);
    EXPECT_EQ(sched_getcpu(), core);
    EXPECT_EQ(two_cores(), std::vector{core});
  }).join();
}

TEST(MessagePorts, AMessageWaitsForAReceiver) {
  message_ports::dispatcher queue(2);
  message_ports::port<std::string> words;
  words.post("early");
  std::promise<std::string> received;
  message_ports::arbiter::activate(
      queue,
      message_ports::receive<std::string>(false, words, [&](std::string word) { received.set_value(word); }));
  EXPECT_EQ(received.get_future().get(), "early");
}

TEST(MessagePorts, APersistentReceiverTakesAllAndAnotherOne) {
  std::atomic<int> sum{0};
  std::atomic<int> once{0};
  message_ports::port<int> numbers;
  message_ports::port<int> single;
  {
    message_ports::dispatcher queue(2);
    message_ports::arbiter::activate(queue,
                                     message_ports::receive<int>(true, numbers, [&](int n) { sum += n; }));
    message_ports::arbiter::activate(queue,
                                     message_ports::receive<int>(false, single, [&](int n) { once += n; }));
    for (int n = 1; n <= 100; ++n) numbers.post(n), single.post(1);
  }  // a dispatcher ends when it has run what it was given
  EXPECT_EQ(sum, 5050);
  EXPECT_EQ(once, 1);
}

TEST(MessagePorts, AMessageThatCannotBePostedLeavesNoneBehind) {
  struct unwilling {
    explicit unwilling(bool may) : may_be_copied(may) {}
    unwilling(const unwilling& other) : may_be_copied(other.may_be_copied) {
      if (!may_be_copied) throw std::bad_alloc();
    }
    unwilling(unwilling&&) = default;
    bool may_be_copied;
  };
  std::atomic<int> received{0};
  message_ports::port<unwilling> port;
  {
    message_ports::dispatcher queue(1);
    message_ports::arbiter::activate(
        queue, message_ports::receive<unwilling>(true, port, [&](unwilling) { ++received; }));
    EXPECT_THROW(port.post(unwilling(false)), std::bad_alloc);
    port.post(unwilling(true));
  }
  EXPECT_EQ(received, 1);
}

TEST(UsableCores, FollowsTheAffinityOfTheThread) {
  EXPECT_GE(usable_cores(), 1U);
  std::thread([] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(usable_cores(), 1U);
  }).join();
}

TEST(CanStartThreads, SaysSoAndEndsThem) { EXPECT_TRUE(detail::can_start_threads(3)); }

}  // namespace
}  // namespace corescale::test
