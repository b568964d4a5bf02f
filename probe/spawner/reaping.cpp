// SPDX-License-Identifier: Apache-2.0
#include "spawner/reaping.hpp"

#include <sys/wait.h>

#include <cerrno>

namespace corescale::probe {

void plain_reaping::drain(double now) {
  for (;;) {
    siginfo_t zombie{};
    if (waitid(P_ALL, 0, &zombie, WEXITED | WNOHANG | WNOWAIT) != 0) {
      childless_ = errno == ECHILD;
      return;
    }
    if (zombie.si_pid == 0) return;
    used_.last_look(zombie.si_pid);
    rusage usage{};
    int status = 0;
    wait4(zombie.si_pid, &status, 0, &usage);
    book(zombie.si_pid, status, usage, now);
  }
}

}  // namespace corescale::probe
