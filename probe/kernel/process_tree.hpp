// SPDX-License-Identifier: Apache-2.0
// The descendants of this process. It is their subreaper, so daemons and orphans are among them.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace corescale::probe {

/// Every living or unreaped descendant, parents before children. A process born meanwhile may be missing, and where a
/// child has ended, what is below this process's own children: chains of processes that fork and end would be followed
/// as long as they live. Loop.
std::vector<pid_t> descendants();

/// Whether a child has ended and SIGCHLD, which must be blocked, still says so.
bool child_ended();

/// Whether a process that is still there, reaped by nobody, is a descendant.
bool is_descendant(pid_t process);

/// The thread ids of a process; empty where it has gone.
std::vector<pid_t> threads_of(pid_t process);

/// Those that still run: neither gone nor waiting to be reaped.
std::vector<pid_t> running_descendants();

/// Kills every running descendant and returns those that it reached. No stranger that was given the number of
/// one that ended meanwhile: each is held by a descriptor while its parent is looked up (Linux 5.3).
std::vector<pid_t> kill_descendants();

/// Lets a process go on that a signal has stopped.
void continue_stopped(pid_t process);

/// The name the kernel keeps (15 bytes), which even a zombie still has.
std::string short_name(pid_t process);

}  // namespace corescale::probe
