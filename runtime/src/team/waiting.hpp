// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "corescale/machine/cpu_pause.hpp"

// How a thread waits for another one: it spins for a while, then sleeps in the kernel.
//
// std::atomic::wait and std::latch are not suitable. They choose how long they spin (libstdc++ 12 checks some 16 times, then sleeps), and
// that time decides the cost of a fork-join. They have no time limit. And in libstdc++, all atomics of a process share 16 tables of
// sleepers, so each notify_all() reads a cache line that other teams write.
namespace corescale::inline v0::detail {

/// The initial number of checks between two readings of the clock: 64 pauses take 0.5 to 3 us.
inline constexpr int checks_per_look = 64;

/// Decides when a thread that spins has to stop.
class spin_watch {
 public:
  explicit spin_watch(std::chrono::nanoseconds spin_for, std::chrono::nanoseconds keep_for = {}) noexcept
      : spin_for_(spin_for.count()), keep_for_(std::min(spin_for, keep_for).count()) {}

  /// Yields the core if another thread waits for it, but not while `keep_for` lasts. False if this thread should sleep, because its time is
  /// over, because others wanted its core, or because the process has more threads awake than cores.
  bool goes_on() noexcept;

  /// The number of checks until the next reading of the clock. It doubles each time, up to some 20 us.
  int checks() const noexcept { return checks_; }

 private:
  std::int64_t spin_for_;
  std::int64_t keep_for_;
  std::int64_t start_ = 0;  // the first reading of the clock, so that a short wait reads none
  int checks_ = checks_per_look;
};

/// Call it when a team that spins is made.
void prepare_waiting() noexcept;

/// Whether the number of threads of all teams that are awake, plus a master that waits or works, is at most the number of cores.
bool process_has_a_core_for_each() noexcept;

/// A thread of a team, from its start on. It is counted while it is awake, so that the process never spins with more threads than cores.
class awake_thread {
 public:
  /// Whether it may be moved from a core that it shares with another thread of its team (shared_core.hpp).
  explicit awake_thread(bool may_move) noexcept;
  ~awake_thread();
  awake_thread(const awake_thread&) = delete;
  awake_thread& operator=(const awake_thread&) = delete;
};

/// An awake_thread while it sleeps.
class asleep_thread {
 public:
  asleep_thread() noexcept;
  ~asleep_thread();
  asleep_thread(const asleep_thread&) = delete;
  asleep_thread& operator=(const asleep_thread&) = delete;
};

/// Spins until ready(); false if the thread should sleep first.
/// It pauses between checks from the beginning, because polling without pauses takes the cache line away from the thread that is about to
/// write it.
template <class Ready>
bool spin_until(Ready ready, std::chrono::nanoseconds spin_for,
                std::chrono::nanoseconds keep_for = {}) noexcept {
  for (int check = 0; check < checks_per_look; ++check) {
    if (ready()) return true;
    cpu_pause();
  }
  for (spin_watch watch(spin_for, keep_for); watch.goes_on();) {
    for (int check = 0; check < watch.checks(); ++check) {
      if (ready()) return true;
      cpu_pause();
    }
  }
  return false;
}

/// A fence that all threads of the process execute, wherever they are. So two threads that each write and then read need no fences of their
/// own. False if the kernel has none (Linux 4.14 has one). Interrupts each core that a thread of the process runs on, and waits for it.
bool order_all_threads() noexcept;

/// The 32 bits that the kernel compares. Of a 64-bit number they are the lower half: it must not grow by 2^32 between a check and
/// the sleep.
class futex_word {
 public:
  explicit futex_word(std::atomic<std::uint32_t>& word) noexcept;
  explicit futex_word(std::atomic<std::uint64_t>& number) noexcept;

  /// Sleeps while the number is `seen`, until a wake() whose group has a bit of `groups`. May also return spuriously.
  void sleep(std::uint64_t seen, std::uint32_t groups) noexcept;

  /// The same as sleep(), for at most `ns` nanoseconds.
  void sleep_at_most(std::uint64_t seen, std::int64_t ns) noexcept;
  void wake(std::uint32_t groups) noexcept;

  static constexpr std::uint32_t all_groups = ~std::uint32_t{0};

 private:
  std::uint32_t* address_;
};

/// A number that one thread publishes and others await.
/// The lowest bit of the word says that a thread sleeps. So publishing costs one atomic exchange, and a system call only if needed.
class parking_word {
 public:
  /// Values count modulo 2^63.
  /// What happened before publish() is visible after await().
  void publish(std::uint64_t value) noexcept {
    if (word_.exchange(value << 1, std::memory_order_acq_rel) & sleeper) [[unlikely]]
      futex_word(word_).wake(futex_word::all_groups);
  }

  void await(std::uint64_t value, std::chrono::nanoseconds spin_for,
             std::chrono::nanoseconds keep_for = {}) noexcept {
    if (!is(value) && !spin_until([&] { return is(value); }, spin_for, keep_for)) sleep_until(value, nullptr);
  }

  /// False if the time, including spinning, is over first.
  bool await_at_most(std::uint64_t value, std::chrono::nanoseconds limit,
                     std::chrono::nanoseconds spin_for = {}) noexcept;

 private:
  static constexpr std::uint64_t sleeper = 1;

  bool is(std::uint64_t value) const noexcept {
    return (word_.load(std::memory_order_acquire) | sleeper) == (value << 1 | sleeper);
  }
  bool sleep_until(std::uint64_t value, const std::int64_t* deadline_ns) noexcept;

  std::atomic<std::uint64_t> word_{0};
};

/// Opens when `count` threads have arrived. Used once.
class countdown_latch {
 public:
  explicit countdown_latch(std::size_t count) noexcept : missing_(count) {}

  void arrive(std::size_t how_many = 1) noexcept {
    if (missing_.fetch_sub(how_many, std::memory_order_acq_rel) == how_many) open_.publish(1);
  }
  /// How many have yet to arrive.
  std::size_t missing() const noexcept { return missing_.load(std::memory_order_relaxed); }
  void wait(std::chrono::nanoseconds spin_for) noexcept { open_.await(1, spin_for); }
  void arrive_and_wait(std::chrono::nanoseconds spin_for) noexcept { arrive(), wait(spin_for); }
  bool wait_at_most(std::chrono::nanoseconds limit, std::chrono::nanoseconds spin_for = {}) noexcept {
    return open_.await_at_most(1, limit, spin_for);
  }

 private:
  std::atomic<std::size_t> missing_;
  parking_word open_;
};

}  // namespace corescale::detail
