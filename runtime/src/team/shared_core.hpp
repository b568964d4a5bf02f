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

  /// Another thread of this process has spun there since.
  bool was_taken() const noexcept { return mark_ && mark_->load(std::memory_order_relaxed) != this; }

 private:
  std::atomic<const core_seat*>* mark_;
};

/// The calling thread is one of a team: it alone is moved, never a program's own.
void may_be_moved() noexcept;

/// Moves the calling thread, if it may be, to another core that it is allowed on, at most once in 0.2 ms.
/// Which cores it is allowed on is what it was before.
void find_another_core(std::int64_t now_ns) noexcept;

}  // namespace corescale::detail
