// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "kernel/accounts.hpp"
#include "kernel/cpu_mask.hpp"
#include "kernel/cpu_time.hpp"
#include "kernel/descriptors.hpp"
#include "kernel/process_tree.hpp"

namespace corescale::probe {
namespace {

TEST(cpu_mask, holds_any_number) {
  for (const auto& cpus : {std::vector<int>{0}, {63, 64}, {3, 1023, 1024, 1535}, {8191}}) {
    EXPECT_EQ(cpu_mask(cpus).cpus(), cpus);
    EXPECT_EQ(cpu_mask(cpus).bytes() % sizeof(unsigned long), 0U);
  }
  EXPECT_TRUE(cpu_mask(4096).cpus().empty());
}

TEST(cpu_mask, of_this_thread_is_its_affinity) { EXPECT_FALSE(affinity_of(0).empty()); }

TEST(cpu_time, is_busy_of_the_cpus_asked_for_and_steal_of_all) {
  const std::string text =
      "cpu  111 222 333 9000 50 10 20 77 5 5\ncpu0 100 20 3 4500 25 4 5 70 5 0\n"
      "cpu1 11 202 330 4500 25 6 15 7 0 5\ncpu10 1 0 0 0 0 0 0 0 0 0\nintr 5 6 7\nctxt 8\n";
  const double tick = tick_seconds();
  const cpu_time first = cpu_time_in(text, {0}), both = cpu_time_in(text, {1, 10}),
                 none = cpu_time_in("", {0});
  EXPECT_DOUBLE_EQ(first.steal, 77 * tick);
  EXPECT_NEAR(first.busy, (100 + 20 + 3 + 4 + 5) * tick, 1e-9);
  EXPECT_NEAR(both.busy, (11 + 202 + 330 + 6 + 15 + 1) * tick, 1e-9);
  EXPECT_EQ(none.busy + none.steal, 0);
  EXPECT_EQ(first.found, 1U);
  EXPECT_EQ(both.found, 2U);
}

TEST(cpu_time, between_two_readings_is_known_where_both_have_every_cpu) {
  const std::string early = "cpu  9 0 0 0\ncpu0 2 0 0 0\ncpu1 5 0 0 0\n";
  const std::string late = "cpu  99 0 0 0\ncpu0 3 0 0 0\ncpu1 7 0 0 0\n";
  const std::string offline = "cpu  99 0 0 0\ncpu1 7 0 0 0\n";
  const auto between = [](std::string_view before, std::string_view after, const std::vector<int>& cpus) {
    return busy_between(cpu_time_in(before, cpus), cpu_time_in(after, cpus), cpus.size());
  };
  const auto known = between(early, late, {0, 1});
  ASSERT_TRUE(known);
  EXPECT_NEAR(*known, 3 * tick_seconds(), 1e-9);
  EXPECT_FALSE(between(early, offline, {0, 1}));
  EXPECT_FALSE(between(offline, late, {0, 1}));
  EXPECT_TRUE(between(offline, offline, {1, 1}));
  EXPECT_FALSE(between("", "", {0}));
  EXPECT_FALSE(between(early, late, {0, 64}));
}

TEST(cpu_time, passes) { EXPECT_GT(cpu_time_now(affinity_of(0)).busy, 0); }

TEST(descriptors, that_are_open_are_marked_one_by_one_where_the_kernel_knows_no_range) {
  const int low = dup(0), high = fcntl(0, F_DUPFD, 900);
  ASSERT_TRUE(low > 2 && high >= 900);
  ASSERT_TRUE(mark_listed_close_on_exec(low + 1));
  EXPECT_EQ(fcntl(low, F_GETFD), 0);
  EXPECT_EQ(fcntl(high, F_GETFD), FD_CLOEXEC);
  close(low), close(high);
}

/// While it lives, a child that ends leaves its signal pending.
struct ends_pending {
  sigset_t ends{};
  ends_pending() {
    sigemptyset(&ends);
    sigaddset(&ends, SIGCHLD);
    sigprocmask(SIG_BLOCK, &ends, nullptr);
  }
  ~ends_pending() { sigprocmask(SIG_UNBLOCK, &ends, nullptr); }
  bool take() const {
    const timespec now{};
    return sigtimedwait(&ends, nullptr, &now) == SIGCHLD;
  }
};

/// A look that went on would delay the time of the end.
TEST(accounts, a_look_stops_once_a_child_has_ended) {
  const ends_pending ends;
  const pid_t child = fork();
  if (child == 0) {
    for (;;) pause();
  }
  accounts used;
  raise(SIGCHLD);
  used.sample();
  EXPECT_FALSE(used.schedule());
  EXPECT_TRUE(ends.take());
  used.sample();
  EXPECT_TRUE(used.schedule());
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

/// Else chains of processes that fork and end would be followed as long as they live.
TEST(descendants, are_looked_for_no_deeper_than_children_once_one_has_ended) {
  const ends_pending ends;
  const pid_t child = fork();
  if (child == 0) {
    fork();
    for (;;) pause();
  }
  while (descendants().size() < 2) usleep(1000);
  raise(SIGCHLD);
  EXPECT_EQ(descendants(), std::vector{child});
  EXPECT_TRUE(ends.take());
  const auto both = descendants();
  EXPECT_EQ(both.size(), 2U);
  EXPECT_FALSE(is_descendant(getppid()));
  for (const pid_t process : both) EXPECT_TRUE(is_descendant(process));
  for (const pid_t process : both)
    kill(process, SIGKILL);  // the child's child is no descendant after its end
  waitpid(child, nullptr, 0);
}

/// As the spawner does, this process adopts the children of those that it kills.
TEST(descendants, are_killed_to_the_last) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  std::vector<pid_t> children;
  for (int i = 0; i < 3; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      fork();
      for (;;) pause();
    }
    children.push_back(child);
  }
  while (running_descendants().size() < 6) usleep(1000);
  const auto killed = kill_descendants();
  EXPECT_EQ(killed.size(), 6U);
  for (const pid_t child : children) EXPECT_NE(std::find(killed.begin(), killed.end(), child), killed.end());
  int status = 0;
  for (int reaped = 0; reaped < 6; ++reaped) {
    EXPECT_GT(wait(&status), 0);
    EXPECT_EQ(WTERMSIG(status), SIGKILL);
  }
  EXPECT_TRUE(running_descendants().empty());
  EXPECT_TRUE(kill_descendants().empty());
}

}  // namespace
}  // namespace corescale::probe
