// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>

namespace corescale::inline v0 {

/// What create() may be told beside the number of threads.
struct team_options {
  /// Time for which a thread of `spin` with nothing to do spins before it sleeps in the kernel.
  /// 2 ms: a wake-up costs 5 to 30 us, so a program that forks every millisecond pays it never, and one that pauses
  /// wastes at most 2 ms per thread and pause.
  std::chrono::nanoseconds spin_for = usual_spin_for;
  static constexpr std::chrono::nanoseconds usual_spin_for = std::chrono::milliseconds(2);

  /// Whether each thread stays on the CPU that place_threads(n) has for its id (placement.hpp).
  /// False: a pinned thread cannot leave a CPU that another program takes.
  /// The master is pinned too, until it ends the team.
  /// `tbb`, `ports` and `openmp` cannot, so create() gives null: the ids of the first two change threads from round to round, and
  /// OpenMP's library ends threads that a round does not need and lends them to its next team.
  bool pin = false;

  /// Bytes of stack of the threads that the team makes; 0 for the system's default.
  /// No effect on `openmp` (which has OMP_STACKSIZE) and `tbb` (global_control::thread_stack_size): they make their own.
  std::size_t stack_bytes = 0;

  /// Called once on each thread with its id, the master's 0 too, before create() returns; empty for nothing.
  /// create() throws what it throws, and leaves no team.
  /// The shares of loops then stay with their threads too, as with `pin`: what was set up on a thread is used there.
  std::function<void(std::size_t id)> on_thread_start = {};

  /// Whether a thread of `spin` that finds another thread of its team on its core, in the same round, leaves it.
  /// True: Linux starts and wakes threads so, and leaves them so while another core is busy. A loop then takes its serial time.
  /// It narrows and restores the thread's own CPU mask; a thread whose mask was changed from outside stays, as does a pinned one.
  bool leave_shared_cores = true;
};

}  // namespace corescale
