// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "corescale/machine/clock.hpp"
#include "corescale/machine/cpu_pause.hpp"
#include "corescale/team/detail/membership.hpp"

// What several threading systems share and no header needs.
namespace corescale::detail {

bool inside_any_worker() noexcept;
void set_study_at_work(bool at_work) noexcept;

/// Starts n plain threads, all alive at once, and ends them. Best effort for libraries that abort the process
/// at the limit: another thread of the process may take the room before they do.
bool can_start_threads(std::size_t n) noexcept;

/// How long a waiting thread spins in a team of n: not at all to speak of when some thread of it has no core.
std::chrono::nanoseconds spin_time(std::size_t num_threads, std::chrono::nanoseconds wanted) noexcept;

/// For libraries whose threads do not survive fork(): true in the first process that asks, false in its
/// children.
class one_process {
 public:
  bool enter() noexcept {
    auto first = none;
    return first_.compare_exchange_strong(first, fork_generation()) || first == fork_generation();
  }

 private:
  static constexpr auto none = std::numeric_limits<std::uint64_t>::max();
  std::atomic<std::uint64_t> first_{none};
};

/// A number that one thread publishes and others await: they spin for a while, then sleep in the kernel. The
/// lowest bit of the word says that somebody sleeps, so publishing costs one atomic exchange, and a system
/// call only if needed.
class parking_word {
 public:
  /// Values count modulo 2^31. What happened before publish() is visible after await().
  void publish(std::uint32_t value) noexcept {
    if (word_.exchange(value << 1, std::memory_order_acq_rel) & sleeper) [[unlikely]]
      wake_all();
  }

  void await(std::uint32_t value, std::chrono::nanoseconds spin_for) noexcept {
    if (!is(value) && !spin_until(value, spin_for)) sleep_until(value, nullptr);
  }

  /// False when the time is over first.
  bool await_at_most(std::uint32_t value, std::chrono::nanoseconds limit) noexcept;

 private:
  static constexpr std::uint32_t sleeper = 1;

  bool is(std::uint32_t value) const noexcept {
    return (word_.load(std::memory_order_acquire) & ~sleeper) == value << 1;
  }

  bool spin_until(std::uint32_t value, std::chrono::nanoseconds spin_for) const noexcept;
  bool sleep_until(std::uint32_t value, const std::int64_t* deadline_ns) noexcept;
  void wake_all() noexcept;

  std::atomic<std::uint32_t> word_{0};
};

/// Opens when `count` threads have arrived. Used once.
class countdown_latch {
 public:
  explicit countdown_latch(std::size_t count) noexcept : missing_(count) {}

  void arrive() noexcept {
    if (missing_.fetch_sub(1, std::memory_order_acq_rel) == 1) open_.publish(1);
  }
  void wait(std::chrono::nanoseconds spin_for) noexcept { open_.await(1, spin_for); }
  void arrive_and_wait(std::chrono::nanoseconds spin_for) noexcept { arrive(), wait(spin_for); }
  bool wait_at_most(std::chrono::nanoseconds limit) noexcept { return open_.await_at_most(1, limit); }

 private:
  std::atomic<std::size_t> missing_;
  parking_word open_;
};

}  // namespace corescale::detail
