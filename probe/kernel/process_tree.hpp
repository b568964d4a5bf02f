// SPDX-License-Identifier: Apache-2.0
// The descendants of this process. It is their subreaper, so daemons and orphans are among them.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace corescale::probe {

/// Every living or unreaped descendant, parents before children. A process born meanwhile may be missing:
/// loop.
std::vector<pid_t> descendants();

/// The thread ids of a process; empty where it has gone.
std::vector<pid_t> threads_of(pid_t process);

/// Whether it still runs: neither gone nor waiting to be reaped.
bool is_running(pid_t process);

/// The name the kernel keeps (15 bytes), which even a zombie still has.
std::string short_name(pid_t process);

}  // namespace corescale::probe
