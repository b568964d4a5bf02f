// SPDX-License-Identifier: Apache-2.0 (more than 300 lines: one contract, read beside the header that states it)
// The contract of team.hpp, for every row of the table.
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <tuple>

#include "corescale/team/spin.hpp"
#include "systems_under_test.hpp"

namespace corescale::test {
namespace {

using Contract = EverySystem;

INSTANTIATE_TEST_SUITE_P(Systems, Contract, every_system(), name_of);

TEST_P(Contract, IdsAreCompleteAndThreadsDistinctAtEverySize) {
  for (std::size_t n = 1; n <= largest_team(GetParam()); ++n) {
    any_team crew = make(n);
    ASSERT_TRUE(crew);
    EXPECT_EQ(crew.num_threads(), n);
    std::vector<std::thread::id> threads(n);
    std::vector<int> calls(n, 0);
    ASSERT_EQ(outcome::done, crew.work([&](std::size_t id) {
      EXPECT_EQ(thread_num(), id);
      EXPECT_TRUE(in_parallel());
      threads.at(id) = std::this_thread::get_id();
      ++calls.at(id);
    }));
    EXPECT_EQ(calls, std::vector<int>(n, 1));
    EXPECT_EQ(std::set(threads.begin(), threads.end()).size(), n);
    EXPECT_EQ(threads.front(), std::this_thread::get_id());
    EXPECT_FALSE(in_parallel());
  }
}

TEST_P(Contract, AllAreAliveAtOnceSoABarrierIsLegal) {
  any_team crew = make_largest();
  const auto n = crew.num_threads();
  std::barrier meeting(static_cast<std::ptrdiff_t>(n));
  std::vector<int> phase(n, 0);
  std::atomic<int> behind{0};
  for (int round = 0; round < 20; ++round) {
    ASSERT_EQ(outcome::done, crew.work([&](std::size_t id) {
      ++phase[id];
      meeting.arrive_and_wait();
      behind += phase[(id + 1) % n] != phase[id];
      meeting.arrive_and_wait();
    }));
  }
  EXPECT_EQ(behind, 0);
}

// A million for a system whose round costs under a microsecond; fewer where a round sleeps, or a sanitizer slows it.
// The time limit is for machines that others use too; CORESCALE_WORK_CALLS sets the number, without a time limit.
long calls_to_make(std::string_view system) {
  if (const char* asked = std::getenv("CORESCALE_WORK_CALLS")) return std::atol(asked);
  const bool sleeps = system.starts_with("pthread") || system.starts_with("boost") || system == "ports";
  const long calls = sleeps ? 50'000 : system == "tbb" ? 200'000 : 1'000'000;
  return calls / (thread_sanitizer || address_sanitizer ? 50 : 1);
}

TEST_P(Contract, AMillionRoundsLoseNone) {
  any_team crew = make(std::min<std::size_t>(2, largest_team(GetParam())));
  std::vector<long> calls(crew.num_threads() * 32, 0);
  const long wanted = calls_to_make(GetParam().name);
  const bool limited = !std::getenv("CORESCALE_WORK_CALLS");
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(4);
  long rounds = 0;
  for (; rounds < wanted && !(limited && rounds % 1000 == 0 && std::chrono::steady_clock::now() > end);
       ++rounds)
    ASSERT_EQ(outcome::done, crew.work([&](std::size_t id) { ++calls[id * 32]; }));
  for (std::size_t id = 0; id < crew.num_threads(); ++id) EXPECT_EQ(calls[id * 32], rounds);
  EXPECT_GE(rounds, std::min(wanted, 1000L));
  RecordProperty("rounds", std::to_string(rounds));
}

TEST_P(Contract, WhatAWorkerWroteIsVisibleToTheMasterAndTheNextRound) {
  any_team crew = make_largest();
  const auto n = crew.num_threads();
  std::vector<std::size_t> value(n, 0);
  for (std::size_t round = 1; round <= 50; ++round) {
    ASSERT_EQ(outcome::done, crew.work([&](std::size_t id) { value[id] += round; }));
    std::size_t sum = 0;
    for (const std::size_t one : value) sum += one;
    ASSERT_EQ(sum, n * round * (round + 1) / 2);
    ASSERT_EQ(outcome::done, crew.work([&](std::size_t id) { std::ignore = value[(id + 1) % n]; }));
  }
}

TEST_P(Contract, ANestedCallIsRefusedWhoeverMakesIt) {
  any_team crew = make_largest();
  std::atomic<int> refused{0};
  EXPECT_EQ(outcome::done, crew.work([&](std::size_t) {
    refused += crew.work([](std::size_t) { ADD_FAILURE() << "a nested worker ran"; }) == outcome::nested;
  }));
  EXPECT_EQ(refused, static_cast<int>(crew.num_threads()));
  EXPECT_EQ(outcome::done, crew.work([](std::size_t) {}));
}

TEST_P(Contract, AWorkerMayOwnATeamOfItsOwn) {
  any_team outer = make(std::min<std::size_t>(2, largest_team(GetParam())));
  std::atomic<int> inner_calls{0};
  EXPECT_EQ(outcome::done, outer.work([&](std::size_t id) {
    const auto inner = spin_team::create(2);
    EXPECT_EQ(outcome::done, inner->work([&](std::size_t inner_id) {
      EXPECT_EQ(thread_num(), inner_id);
      EXPECT_NE(current_team().team, nullptr);
      ++inner_calls;
    }));
    EXPECT_EQ(outcome::done, inner->work(1, [&](std::size_t) {
      EXPECT_EQ(outcome::nested, outer.work([](std::size_t) {})) << "from two teams further in";
    }));
    EXPECT_EQ(thread_num(), id);
    EXPECT_TRUE(in_parallel());
  }));
  EXPECT_EQ(inner_calls, 2 * static_cast<int>(outer.num_threads()));
}

std::string message_of(any_team& crew, worker_ref worker) {
  try {
    static_cast<void>(crew.work(worker));
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "none";
}

TEST_P(Contract, AnExceptionFromAnyIdReachesTheCallerAfterTheJoin) {
  any_team crew = make_largest();
  for (std::size_t thrower = 0; thrower < crew.num_threads(); ++thrower) {
    std::atomic<std::size_t> ended{0};
    const auto worker = [&](std::size_t id) {
      if (id != thrower) std::this_thread::sleep_for(std::chrono::milliseconds(2));
      ++ended;
      if (id == thrower) throw std::runtime_error("from " + std::to_string(id));
    };
    EXPECT_EQ(message_of(crew, worker), "from " + std::to_string(thrower));
    EXPECT_EQ(ended, crew.num_threads());
    EXPECT_FALSE(in_parallel());
    EXPECT_EQ(message_of(crew, [](std::size_t) {}), "none");
  }
}

TEST_P(Contract, OfSeveralExceptionsOneReachesTheCaller) {
  any_team crew = make_largest();
  for (int round = 0; round < 20; ++round) {
    EXPECT_THROW(std::ignore = crew.work([](std::size_t id) { throw static_cast<int>(id); }), int);
    EXPECT_EQ(outcome::done, crew.work([](std::size_t) {}));
  }
}

TEST_P(Contract, AnExceptionMayPassThroughANestedRefusal) {
  any_team crew = make_largest();
  const auto worker = [&](std::size_t) {
    if (crew.work([](std::size_t) {}) == outcome::nested) throw std::logic_error("nested");
  };
  EXPECT_THROW(std::ignore = crew.work(worker), std::logic_error);
}

TEST_P(Contract, AnotherThreadThanTheMasterIsRefused) {
  any_team crew = make_largest();
  outcome answer{};
  std::thread([&] { answer = crew.work([](std::size_t) {}); }).join();
  EXPECT_EQ(answer, outcome::not_master);
}

TEST_P(Contract, TheFirstKWorkAndTheOthersDoNot) {
  any_team crew = make_largest();
  const std::size_t n = crew.num_threads();
  for (int round = 0; round < 50; ++round) {
    for (std::size_t k = 0; k <= n; ++k) {
      std::vector<int> calls(n, 0);
      ASSERT_EQ(outcome::done, crew.work(k, [&](std::size_t id) {
        EXPECT_EQ(current_team().num_threads, k);
        EXPECT_EQ(current_team().id, id);
        ++calls.at(id);
      }));
      for (std::size_t id = 0; id < n; ++id) ASSERT_EQ(calls[id], id < k) << id << " of the first " << k;
    }
  }
  EXPECT_EQ(outcome::too_few_threads, crew.work(n + 1, [](std::size_t) { ADD_FAILURE() << "ran"; }));
}

TEST_P(Contract, AllOfATeamSeeItAsTheSameAndNobodyElseDoes) {
  any_team crew = make_largest();
  EXPECT_EQ(current_team().team, nullptr);
  std::vector<const void*> seen(crew.num_threads());
  ASSERT_EQ(outcome::done, crew.work([&](std::size_t id) { seen.at(id) = current_team().team; }));
  EXPECT_NE(seen.front(), nullptr);
  EXPECT_EQ(std::set(seen.begin(), seen.end()).size(), 1U);
  any_team other = make_largest();
  ASSERT_EQ(outcome::done, other.work(1, [&](std::size_t) { EXPECT_NE(current_team().team, seen.front()); }));
}

// Callers that share a team take turns by a lock of their own.
TEST_P(Contract, ATeamChangesHands) {
  any_team crew = make_largest();
  ASSERT_EQ(outcome::done, crew.release());
  EXPECT_EQ(outcome::not_master, crew.work([](std::size_t) { ADD_FAILURE() << "worked without a master"; }));
  std::mutex turn;
  std::atomic<std::size_t> calls{0};
  const auto caller = [&] {
    for (int round = 0; round < 20; ++round) {
      const std::scoped_lock mine(turn);
      ASSERT_EQ(outcome::done, crew.adopt());
      EXPECT_EQ(outcome::done, crew.work([&](std::size_t) { ++calls; }));
      ASSERT_EQ(outcome::done, crew.release());
    }
  };
  std::thread other(caller);
  caller();
  other.join();
  EXPECT_EQ(calls, 2 * 20 * crew.num_threads());
}

TEST_P(Contract, ATeamIsTakenFromNobody) {
  any_team crew = make_largest();
  const auto by_another = [&](auto call) {
    outcome answer{};
    std::thread([&] { answer = call(); }).join();
    return answer;
  };
  EXPECT_EQ(outcome::not_master, by_another([&] { return crew.adopt(); }));
  EXPECT_EQ(outcome::not_master, by_another([&] { return crew.release(); }));
  EXPECT_EQ(outcome::done, crew.work([&](std::size_t) {
    EXPECT_EQ(outcome::nested, crew.adopt());
    EXPECT_EQ(outcome::nested, crew.release());
    std::thread([&] { EXPECT_EQ(outcome::not_master, crew.adopt()); }).join();
  }));
  EXPECT_EQ(outcome::done, crew.adopt()) << "its master may";
}

// Of a thread that never had a team, too, which is told from nobody.
TEST_P(Contract, ATeamThatWasReleasedWorksForNobodyUntilItIsAdopted) {
  any_team crew = make_largest();
  ASSERT_EQ(outcome::done, crew.release());
  const auto expect_refused = [&] {
    EXPECT_EQ(outcome::not_master, crew.work([](std::size_t) { ADD_FAILURE() << "ran"; }));
    EXPECT_EQ(outcome::not_master, crew.release());
  };
  expect_refused();
  std::thread(expect_refused).join();
  EXPECT_EQ(outcome::done, crew.adopt());
  EXPECT_EQ(outcome::done, crew.work([](std::size_t) {}));
}

// The stack of the thread that made the team serves the next thread, which is another one all the same.
TEST_P(Contract, ATeamWhoseMasterHasEndedWorksForNobodyUntilItIsAdopted) {
  any_team crew;
  std::thread([&] { crew = make_largest(); }).join();
  outcome next{};
  std::thread([&] { next = crew.work([](std::size_t) { ADD_FAILURE() << "ran"; }); }).join();
  EXPECT_EQ(next, outcome::not_master);
  EXPECT_EQ(outcome::not_master, crew.work([](std::size_t) { ADD_FAILURE() << "ran"; }));
  EXPECT_EQ(outcome::done, crew.adopt());
  EXPECT_EQ(outcome::done, crew.work([](std::size_t) {}));
}

TEST_P(Contract, ImpossibleSizesAreRefused) {
  for (const std::size_t n : {std::size_t{0}, std::size_t{1} << 32, SIZE_MAX, SIZE_MAX - 1})
    EXPECT_FALSE(make(n)) << n;
}

TEST_P(Contract, TeamsOfDifferentSizesLiveSideBySide) {
  if (GetParam().name == "serial") GTEST_SKIP() << "holds one thread";
  any_team large = make(4);
  any_team small = make(2);
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> calls{0};
    EXPECT_EQ(outcome::done, large.work([&](std::size_t) { ++calls; }));
    EXPECT_EQ(outcome::done, small.work([&](std::size_t) { ++calls; }));
    EXPECT_EQ(calls, 6);
  }
  small = any_team();
  EXPECT_EQ(outcome::done, large.work([](std::size_t) {}));
}

// Both are at work at once, and neither waits for threads that the other one holds.
TEST_P(Contract, TwoMastersEachHaveATeam) {
  const std::size_t n = std::min<std::size_t>(3, largest_team(GetParam()));
  std::atomic<int> made{0};
  std::atomic<long> calls{0};
  const auto master = [&] {
    any_team crew = make(n);
    ASSERT_TRUE(crew);
    for (++made; made < 2;) std::this_thread::yield();
    for (int round = 0; round < 300; ++round)
      ASSERT_EQ(outcome::done, crew.work([&](std::size_t) { ++calls; }));
  };
  std::thread other(master);
  master();
  other.join();
  EXPECT_EQ(calls, 2 * 300 * static_cast<long>(n));
}

TEST_P(Contract, AWorkerMayOwnATeamOfTheSameSystem) {
  const bool nests = GetParam().name != "openmp" && GetParam().name != "tbb";  // these two say so at once
  const std::size_t n = std::min<std::size_t>(2, largest_team(GetParam()));
  any_team outer = make(n);
  std::atomic<std::size_t> calls{0};
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(outcome::done, outer.work([&](std::size_t) {
    any_team inner = make(n);
    EXPECT_EQ(nests, static_cast<bool>(inner));
    EXPECT_EQ(nests ? outcome::done : outcome::empty, inner.work([&](std::size_t) { ++calls; }));
  }));
  EXPECT_EQ(calls, nests ? n * n : 0);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

TEST(Table, NamesTheSystemsAndWhatTheyNeed) {
  std::vector<std::string_view> names;
  for (const threading_system& row : threading_systems()) {
    names.push_back(row.name);
    EXPECT_TRUE(row.is_present() || !row.package.empty())
        << row.name << " is absent, and no package is named";
  }
  EXPECT_EQ(names, (std::vector<std::string_view>{"serial", "openmp", "pthread", "pthread_barrier", "boost",
                                                  "boost_barrier", "tbb", "ports", "spin"}));
}

TEST(Table, AnUnknownNameGivesAnEmptyTeam) {
  EXPECT_EQ(find_threading_system("fibres"), nullptr);
  any_team none = make_team(2, "fibres");
  EXPECT_FALSE(none);
  EXPECT_EQ(none.work([](std::size_t) {}), outcome::empty);
  EXPECT_EQ(none.adopt(), outcome::empty);
  EXPECT_EQ(none.num_threads(), 0U);
}

TEST(Table, SerialHoldsOneThread) { EXPECT_FALSE(make_team(2, "serial")); }

}  // namespace
}  // namespace corescale::test
