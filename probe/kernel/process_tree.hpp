// SPDX-License-Identifier: Apache-2.0
// The descendants of this process. It is their subreaper, so daemons and orphans are among them.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace corescale::probe {

/// Every living or unreaped descendant, parents before children. A process born meanwhile may be missing.
/// Once a child has ended, descendants below this process's own children may be missing, too; otherwise this could follow an endless chain
/// of processes that fork and end. So call it in a loop.
std::vector<pid_t> descendants();

/// Whether SIGCHLD, which must be blocked, is pending because a child has ended.
bool child_ended();

/// Whether a process is a descendant. The process must not have been reaped.
bool is_descendant(pid_t process);

/// The thread ids of a process; empty if it has gone.
std::vector<pid_t> threads_of(pid_t process);

/// Descendants that still run: they are neither gone nor waiting to be reaped.
std::vector<pid_t> running_descendants();

/// How many descendants a signal has stopped.
int stopped_descendants();

/// Kills every running descendant and returns those that it reached. Never kills a stranger that got the
/// number of a descendant that has ended: a descriptor holds each process while its parent is looked up
/// (Linux 5.3).
std::vector<pid_t> kill_descendants();

/// The process that traces `process`, which has ended and is not reaped yet. 0 if none does, or if `process` runs.
pid_t tracer_of_zombie(pid_t process);

/// Whether processes can be examined. They cannot if the program has used up all descriptors.
bool can_look();

/// Continues a process that a signal has stopped.
void continue_stopped(pid_t process);

/// The name the kernel keeps (15 bytes), which even a zombie still has.
std::string short_name(pid_t process);

}  // namespace corescale::probe
