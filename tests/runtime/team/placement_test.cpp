// SPDX-License-Identifier: Apache-2.0
// Where a team's threads run, and what they are told, called and spared.
#include "corescale/team/placement.hpp"

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <csignal>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>

#include "corescale/team/process_team.hpp"
#include "systems_under_test.hpp"

namespace corescale::test {
namespace {

using Placement = EverySystem;

INSTANTIATE_TEST_SUITE_P(Systems, Placement, every_system(), name_of);

bool keeps_ids(const threading_system& system) {
  return system.name != "tbb" && system.name != "ports" && system.name != "openmp";
}

/// Two groups of two cores, two hardware threads each, numbered as kernels do: first threads first.
topology two_groups() {
  topology machine;
  for (int cpu = 0; cpu < 8; ++cpu)
    machine.cpus.push_back({.cpu = cpu, .core = cpu % 4, .l3_domain = cpu % 4 / 2});
  return machine;
}

std::vector<int> cpus_of(const std::vector<cpu_place>& places) {
  std::vector<int> cpus;
  for (const cpu_place& one : places) cpus.push_back(one.cpu);
  return cpus;
}

TEST(PlaceThreads, FillsACoreGroupBeforeTheNextAndEveryCoreBeforeItsSecondThread) {
  EXPECT_EQ(cpus_of(place_threads(8, two_groups())), (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
  topology interleaved = two_groups();
  for (cpu_place& one : interleaved.cpus) one.l3_domain = one.core % 2;
  EXPECT_EQ(cpus_of(place_threads(8, interleaved)), (std::vector<int>{0, 2, 1, 3, 4, 6, 5, 7}));
}

TEST(PlaceThreads, LeavesOutWhatTheProcessMayNotUseAndBeginsAgain) {
  topology machine = two_groups();
  machine.cpus[0].allowed = machine.cpus[4].allowed = machine.cpus[5].allowed = machine.cpus[6].allowed =
      false;
  EXPECT_EQ(cpus_of(place_threads(6, machine)), (std::vector<int>{1, 2, 3, 7, 1, 2}));
  EXPECT_TRUE(place_threads(0, machine).empty());
}

TEST_P(Placement, APinnedTeamsThreadsAreWhereTheMapSaysAndTheMasterIsFreeAgain) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  const std::size_t n = largest_team(GetParam());
  any_team crew = GetParam().create(n, {.pin = true});
  ASSERT_EQ(static_cast<bool>(crew), keeps_ids(GetParam()));
  if (!crew) return;
  const std::vector<cpu_place> places = place_threads(n);
  ASSERT_EQ(outcome::done, crew.work([&](std::size_t id) {
    cpu_set_t allowed;
    EXPECT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    EXPECT_EQ(CPU_COUNT(&allowed), 1);
    EXPECT_TRUE(CPU_ISSET(places[id].cpu, &allowed)) << id;
  }));
  crew = any_team();
  cpu_set_t after;
  ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

TEST_P(Placement, EachThreadIsToldOnceBeforeCreateReturns) {
  const std::size_t n = largest_team(GetParam());
  std::vector<std::thread::id> told(n);
  std::atomic<std::size_t> calls{0};
  any_team crew = GetParam().create(n, {.on_thread_start = [&](std::size_t id) {
                                      EXPECT_EQ(thread_num(), id);
                                      told.at(id) = std::this_thread::get_id();
                                      ++calls;
                                    }});
  ASSERT_TRUE(crew);
  EXPECT_EQ(calls, n);
  EXPECT_EQ(std::set(told.begin(), told.end()).size(), n);
  ASSERT_EQ(outcome::done, crew.work([&](std::size_t id) {
    EXPECT_TRUE(told[id] == std::this_thread::get_id() || !keeps_ids(GetParam()));
  }));
  EXPECT_EQ(calls, n);
}

TEST_P(Placement, WhatOnThreadStartThrowsReachesTheCallerAndNoTeamIsLeft) {
  const std::size_t n = largest_team(GetParam());
  const auto fails = [n](std::size_t id) {
    if (id == n - 1) throw std::runtime_error("start");
  };
  EXPECT_THROW(GetParam().create(n, {.on_thread_start = fails}), std::runtime_error);
  EXPECT_TRUE(make(n)) << "the next team is not spoilt";
}

TEST_P(Placement, ThreadsAreNamedAndHaveTheSignalMaskOfWhoMadeThem) {
  sigset_t before, one;
  sigemptyset(&one);
  sigaddset(&one, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &one, &before);
  any_team crew = make_largest();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ASSERT_EQ(outcome::done, crew.work([&](std::size_t id) {
    if (id == 0) return;
    char name[16] = "";
    pthread_getname_np(pthread_self(), name, sizeof name);
    const std::string_view fits = GetParam().name.substr(0, 13);  // of 15 characters, with the number
    EXPECT_EQ(std::string(name).substr(0, fits.size() + 1), std::string(fits) + " ");
    if (GetParam().name == "openmp" || GetParam().name == "tbb")
      return;  // their threads may be older than the team
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    EXPECT_TRUE(sigismember(&blocked, SIGUSR2));
    EXPECT_FALSE(sigismember(&blocked, SIGINT) || sigismember(&blocked, SIGTERM));
  }));
}

std::size_t stack_of_calling_thread() {
  pthread_attr_t attributes;
  std::size_t bytes = 0;
  pthread_getattr_np(pthread_self(), &attributes);
  pthread_attr_getstacksize(&attributes, &bytes);
  pthread_attr_destroy(&attributes);
  return bytes;
}

TEST_P(Placement, StacksHaveTheSizeThatWasAskedFor) {
  if (GetParam().name == "openmp" || GetParam().name == "tbb") GTEST_SKIP() << "makes its own threads";
  constexpr std::size_t asked =
      std::size_t{32}
      << 20;  // more than the default, as a smaller one may be given what an ended thread left
  any_team crew = GetParam().create(largest_team(GetParam()), {.stack_bytes = asked});
  ASSERT_TRUE(crew);
  ASSERT_EQ(outcome::done, crew.work([&](std::size_t id) {
    if (id == 0) return;
    EXPECT_GE(stack_of_calling_thread(), asked);
  }));
}

TEST(DefaultSize, IsWhatTheProcessMayUse) {
  EXPECT_EQ(make_team().num_threads(), usable_cores());
  ASSERT_TRUE(team_create());
  std::atomic<std::size_t> calls{0};
  EXPECT_TRUE(team_work([&] { ++calls; }));
  EXPECT_EQ(calls, usable_cores());
  EXPECT_TRUE(team_destroy());
}

}  // namespace
}  // namespace corescale::test
