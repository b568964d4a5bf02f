// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

#include "spawner/reaping.hpp"
#include "spawner/supervise.hpp"

namespace corescale::probe {
namespace {

/// A process that ends at once. Returns when it can be reaped.
pid_t ended_child() {
  const pid_t child = fork();
  if (child == 0) _exit(3);
  siginfo_t zombie{};
  waitid(P_PID, static_cast<id_t>(child), &zombie, WEXITED | WNOWAIT);
  return child;
}

TEST(reaping, of_a_main_process_that_ended_after_another_is_not_dated_before_its_end) {
  const pid_t orphan = ended_child();
  plain_reaping children(ended_child());
  EXPECT_NE(orphan, children.main());
  children.drain(0);
  ASSERT_TRUE(children.ended());
  EXPECT_GT(children.ended()->at, 0);
  EXPECT_TRUE(children.childless());
}

/// Stops this process while it reaps, at one of several calls; the main process is found to have ended at the last one.
struct stopped_in_drain final : reaping {
  stopped_in_drain(int stop, int end) : reaping(getpid()), stop_(stop), end_(end) {}
  void drain(double now) override {
    ++calls_;
    if (calls_ == stop_) raise(SIGSTOP);
    if (calls_ == end_) book(main(), 0, {}, now);
    has_more_ = calls_ < end_, childless_ = calls_ == end_;
  }
  int stop_, end_, calls_ = 0;
};

/// Whether a supervisor that is stopped in this call of drain() reports it.
bool reports_stop(int stop, int end) {
  const pid_t tester = getpid(), supervisor = fork();
  if (supervisor == 0) {
    become_supervisor();
    arguments asked;
    asked.parent = tester;
    stopped_in_drain children(stop, end);
    const auto nothing = [] {};
    raise(SIGCHLD);
    _exit(supervise(asked, children, 0, STDERR_FILENO, nothing, nothing, nothing).stopped ? 1 : 0);
  }
  int status = 0;
  while (waitpid(supervisor, &status, WUNTRACED) == supervisor && WIFSTOPPED(status))
    kill(supervisor, SIGCONT);
  return WEXITSTATUS(status) == 1;
}

TEST(supervision, that_is_stopped_when_the_program_ends_reports_it) {
  EXPECT_TRUE(reports_stop(1, 1));   // while it reaps
  EXPECT_FALSE(reports_stop(1, 3));  // it goes on in time
  EXPECT_FALSE(reports_stop(0, 2));
}

}  // namespace
}  // namespace corescale::probe
