// SPDX-License-Identifier: Apache-2.0
// The five free functions of the study, and its rules.
#include "corescale/team/process_team.hpp"

#include <array>
#include <atomic>
#include <stdexcept>
#include <thread>

#include "systems_under_test.hpp"

namespace corescale::test {
namespace {

using ProcessTeam = EverySystem;

INSTANTIATE_TEST_SUITE_P(Systems, ProcessTeam, every_system(), name_of);

std::array<std::atomic<int>, 8> calls_of;
bool count_me() { return calls_of.at(thread_num())++ == 0; }

TEST_P(ProcessTeam, CreateWorkDestroy) {
  const std::size_t n = largest_team(GetParam());
  for (auto& calls : calls_of) calls = 0;
  EXPECT_FALSE(in_parallel());
  ASSERT_TRUE(team_create(n, GetParam().name));
  EXPECT_TRUE(team_work(count_me));
  for (std::size_t id = 0; id < calls_of.size(); ++id) EXPECT_EQ(calls_of.at(id), id < n ? 1 : 0);
  EXPECT_FALSE(team_work(count_me)) << "a worker that returns false makes the call false";
  EXPECT_TRUE(team_destroy());
  EXPECT_FALSE(in_parallel());
}

TEST_P(ProcessTeam, ForbiddenInsideAWorker) {
  ASSERT_TRUE(team_create(largest_team(GetParam()), GetParam().name));
  EXPECT_TRUE(
      team_work([] { return in_parallel() && !team_create(1) && !team_work(count_me) && !team_destroy(); }));
  EXPECT_TRUE(team_destroy());
}

TEST_P(ProcessTeam, AnExceptionReachesTheCallerAndExecutionIsSequentialAgain) {
  ASSERT_TRUE(team_create(largest_team(GetParam()), GetParam().name));
  EXPECT_THROW(team_work([] { throw std::runtime_error("worker"); }), std::runtime_error);
  EXPECT_FALSE(in_parallel());
  EXPECT_TRUE(team_work([] {}));
  EXPECT_TRUE(team_destroy());
}

struct misuse {
  const char* what;
  bool (*call)();
};

template <class Call>
bool from_another_thread(Call call) {
  bool result = true;
  std::thread([&] { result = call(); }).join();
  return result;
}

const misuse without_a_team[] = {
    {"work before create", [] { return team_work([] {}); }},
    {"destroy before create", [] { return team_destroy(); }},
    {"no thread", [] { return team_create(0); }},
    {"unknown system", [] { return team_create(2, "fibres"); }},
    {"serial with two threads", [] { return team_create(2, "serial"); }},
};

const misuse with_a_team[] = {
    {"create twice", [] { return team_create(2); }},
    {"work by another thread", [] { return from_another_thread([] { return team_work([] {}); }); }},
    {"destroy by another thread", [] { return from_another_thread([] { return team_destroy(); }); }},
    {"create by another thread", [] { return from_another_thread([] { return team_create(2); }); }},
};

TEST(ProcessTeamMisuse, IsFalseAndDoesNothing) {
  for (const misuse& wrong : without_a_team) EXPECT_FALSE(wrong.call()) << wrong.what;
  ASSERT_TRUE(team_create(2));
  for (const misuse& wrong : with_a_team) EXPECT_FALSE(wrong.call()) << wrong.what;
  EXPECT_TRUE(team_work([] {}));
  EXPECT_TRUE(team_destroy());
  for (const misuse& wrong : without_a_team) EXPECT_FALSE(wrong.call()) << wrong.what;
}

TEST(ProcessTeamMisuse, DuringParallelModeEveryOtherThreadIsRefusedAndSeesIt) {
  ASSERT_TRUE(team_create(2));
  team_work([] {
    if (thread_num() != 1) return;
    std::thread([] {
      EXPECT_TRUE(in_parallel());
      EXPECT_FALSE(team_create(2));
      EXPECT_FALSE(team_work([] {}));
      EXPECT_FALSE(team_destroy());
    }).join();
  });
  EXPECT_TRUE(team_destroy());
}

TEST(ProcessTeamMisuse, CallsFromManyThreadsAtOnceAreNeverUndefined) {
  std::atomic<int> made{0};
  std::atomic<int> ended{0};
  const auto storm = [&] {
    for (int call = 0; call < 200; ++call) {
      made += team_create(2);
      team_work([] {});
      ended += team_destroy();
    }
  };
  std::thread other(storm);
  storm();
  other.join();
  EXPECT_EQ(made, ended);
  EXPECT_GT(made, 0);
}

TEST(ProcessTeamMaster, AnotherThreadMayBeTheNextMaster) {
  ASSERT_TRUE(team_create(2));
  ASSERT_TRUE(team_destroy());
  EXPECT_TRUE(from_another_thread([] { return team_create(2) && team_work([] {}) && team_destroy(); }));
}

TEST(ProcessTeamMaster, ATeamWhoseMasterHasEndedDoesNotBlockTheNext) {
  ASSERT_TRUE(from_another_thread([] { return team_create(2); }));
  EXPECT_FALSE(team_work([] {}));
  EXPECT_FALSE(team_destroy());
  ASSERT_TRUE(team_create(3));
  EXPECT_TRUE(team_work([] {}));
  EXPECT_TRUE(team_destroy());
}

}  // namespace
}  // namespace corescale::test
