// SPDX-License-Identifier: Apache-2.0
#include "spawner/reaping.hpp"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include <cerrno>

#include "kernel/clock.hpp"

namespace corescale::probe {

namespace {

/// A child that asked to be traced has stopped, but its parent does not trace.
void go_on_untraced(pid_t child, int signal) {
  ptrace(PTRACE_DETACH, child, nullptr, signal == SIGTRAP ? 0L : static_cast<long>(signal));
}

}  // namespace

void plain_reaping::drain(double now) {
  has_more_ = false;
  for (int handled = 0; handled < at_once; ++handled) {
    siginfo_t zombie{};
    if (waitid(P_ALL, 0, &zombie, WEXITED | WNOHANG | WNOWAIT) != 0) {
      childless_ = errno == ECHILD;
      return;
    }
    if (zombie.si_pid == 0) return;
    if (zombie.si_code == CLD_TRAPPED || zombie.si_code == CLD_STOPPED) {
      go_on_untraced(zombie.si_pid, zombie.si_status);
      continue;
    }
    used_.last_look(zombie.si_pid);
    rusage usage{};
    int status = 0;
    wait4(zombie.si_pid, &status, 0, &usage);
    book(zombie.si_pid, status, usage, handled == 0 ? now : monotonic());
  }
  has_more_ = true;
}

}  // namespace corescale::probe
