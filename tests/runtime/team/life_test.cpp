// SPDX-License-Identifier: Apache-2.0
// What a team holds on to: threads, descriptors, memory, and a core when idle.
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include "corescale/machine/topology.hpp"
#include "corescale/team/spin.hpp"
#include "systems_under_test.hpp"

namespace corescale::test {
namespace {

using namespace std::chrono_literals;
using Life = EverySystem;

INSTANTIATE_TEST_SUITE_P(Systems, Life, every_system(), name_of);

std::ptrdiff_t entries(const char* folder) {
  return std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator());
}

struct holdings {
  std::ptrdiff_t threads = entries("/proc/self/task");
  std::ptrdiff_t descriptors = entries("/proc/self/fd");
  std::size_t heap_bytes = mallinfo2().uordblks;
};

// A thread that was joined may still be listed for a moment.
holdings settled_holdings(std::ptrdiff_t threads) {
  holdings now;
  for (int tries = 0; now.threads > threads && tries < 200; ++tries) {
    std::this_thread::sleep_for(5ms);
    now = holdings();
  }
  return now;
}

TEST_P(Life, AThousandTeamsLeaveNothingBehind) {
  const std::size_t n = std::min<std::size_t>(3, largest_team(GetParam()));
  const auto live_once = [&] {
    any_team crew = make(n);
    ASSERT_TRUE(crew);
    ASSERT_EQ(outcome::done, crew.work([](std::size_t) {}));
  };
  for (int team = 0; team < 20; ++team) live_once();  // what a library keeps for good, it has by now
  const holdings before;
  for (int team = 0; team < (thread_sanitizer || address_sanitizer ? 100 : 1000); ++team) live_once();
  const holdings after = settled_holdings(before.threads);
  EXPECT_LE(after.threads, before.threads);
  EXPECT_EQ(after.descriptors, before.descriptors);
  if (thread_sanitizer || address_sanitizer) return;        // they count the heap as their own
  EXPECT_LT(after.heap_bytes, before.heap_bytes + 50'000);  // 50 B a team
}

std::chrono::nanoseconds cpu_time() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto ns = [](const timeval& t) {
    return std::chrono::seconds(t.tv_sec) + std::chrono::microseconds(t.tv_usec);
  };
  return ns(used.ru_utime) + ns(used.ru_stime);
}

TEST(SpinLife, AnIdleTeamBurnsNoCpuAfterTenMilliseconds) {
  const auto crew = spin_team::create(2);
  for (int round = 0; round < 100; ++round) EXPECT_EQ(outcome::done, crew->work([](std::size_t) {}));
  // CPU time, as a worker on a busy machine may not have had its ten milliseconds yet.
  const auto before = cpu_time();
  std::this_thread::sleep_for(300ms);
  EXPECT_LT(cpu_time() - before, 15ms);
}

TEST(SpinLife, ATeamLargerThanTheMachineSleepsAtOnce) {
  const auto crew = spin_team::create(4 * usable_cores());
  EXPECT_EQ(outcome::done, crew->work([](std::size_t) {}));
  const auto before = cpu_time();
  std::this_thread::sleep_for(100ms);
  EXPECT_LT(cpu_time() - before, 5ms);
}

TEST(SpinLife, AMasterThatWaitsLongSleepsToo) {
  const auto crew = spin_team::create(2);
  const auto before = cpu_time();
  EXPECT_EQ(outcome::done, crew->work([](std::size_t id) {
    if (id == 1) std::this_thread::sleep_for(100ms);
  }));
  EXPECT_LT(cpu_time() - before, 20ms);
}

}  // namespace
}  // namespace corescale::test
