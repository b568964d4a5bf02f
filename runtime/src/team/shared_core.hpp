// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

// Two threads of a process that share one core and spin in turn, while another core is idle.
//
// Linux parts two threads that compute at its next tick or two; two that yield to each other all the time look cache-hot to it.
// On a KVM guest it starts threads so and wakes them so, as an idle virtual core that the host has put away is not held for an idle one:
// a fork-join then took 6 us instead of 0.1, for up to 16 ms each time.
namespace corescale::inline v0::detail {

/// What a thread that spins leaves on its core before it lets others run.
/// Cores from the 257th on are not looked at.
class core_seat {
 public:
  /// Of the calling thread's core; a live object's address is the mark.
  core_seat() noexcept;
  core_seat(const core_seat&) = delete;
  core_seat& operator=(const core_seat&) = delete;

  /// The calling thread is on that core still, and another thread of this process has spun there since.
  bool was_taken() const noexcept;

 private:
  std::atomic<const core_seat*>* mark_;
};

/// The calling thread is one of a team, and starts: it alone is moved, never a program's own.
void may_be_moved() noexcept;

/// Whether the machine has at most as many threads to run, the caller among them, as CPUs, so that where two share one, another one is idle.
/// Also where the kernel does not tell (/proc/loadavg). It tells of the whole machine: in a container on a large host, which may have used
/// up its own cores, that is nearly always so.
bool some_core_is_idle() noexcept;

/// Moves the calling thread, if it may be, to another core that it is allowed on: at most once in 0.2 ms, and in twice that time after each move,
/// up to 13 ms, while moving does not help; not where `is_idle` says that no core is.
/// Only a thread that is allowed the cores that it was at its start, which it is again afterwards: one that was pinned since, by whomever, stays.
/// Two limits: a pin from outside that comes during the move's few microseconds may be lost, and a cpuset of the process that grows
/// beyond what it was at the thread's start is not followed by a thread that has moved.
void find_another_core(std::int64_t now_ns, bool (*is_idle)() noexcept = some_core_is_idle) noexcept;

}  // namespace corescale::detail
