// SPDX-License-Identifier: Apache-2.0
#include "waiting.hpp"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <climits>
#include <ctime>

#include "corescale/machine/clock.hpp"
#include "corescale/machine/topology.hpp"
#include "shared_core.hpp"

namespace corescale::inline v0::detail {
namespace {

/// The state on which spinning depends, for all teams of the process together.
struct spin_budget {
  std::atomic<int> awake{0};  // threads of teams that are awake, without masters
  std::atomic<int> cores{1};  // the largest usable_cores() when a team was made
  std::atomic<std::int64_t> crowded_until{
      0};  // a thread that spun was taken off its core: no spinning until then
};
constinit spin_budget the_budget;

// In a child of fork() no thread of a team is awake.
[[maybe_unused]] const int no_thread_is_awake_in_a_child =
    pthread_atfork(nullptr, nullptr, [] { the_budget.awake = 0; });

// If a yield takes longer, another thread or an interrupt had the core for a while.
constexpr std::int64_t taken_off_ns = 50'000;

// After that, a process does not spin for a few times the time that it was off its core. An interrupt of a virtual machine lasts 60 us and
// comes with every tick. The limit is a few time slices of the kernel.
constexpr std::int64_t crowded_for(std::int64_t off_ns) noexcept {
  return std::min<std::int64_t>(4 * off_ns, 10'000'000);
}

// A short interrupt does not shorten the time that a longer one has set.
void be_crowded_until(std::int64_t end) noexcept {
  std::int64_t known = the_budget.crowded_until.load(std::memory_order_relaxed);
  while (known < end &&
         !the_budget.crowded_until.compare_exchange_weak(known, end, std::memory_order_relaxed)) {
  }
}

constexpr int most_checks = 16 * checks_per_look;

// Copied from linux/membarrier.h, because older systems lack this header.
constexpr int private_expedited = 1 << 3, register_private_expedited = 1 << 4;

bool membarrier([[maybe_unused]] int command) noexcept {
#ifdef SYS_membarrier
  return syscall(SYS_membarrier, command, 0, 0) == 0;
#else
  return false;
#endif
}

constinit std::atomic<bool> threads_can_be_ordered{false};

timespec duration_of(std::int64_t ns) noexcept { return {ns / 1'000'000'000, ns % 1'000'000'000}; }

}  // namespace

bool process_has_a_core_for_each() noexcept {
  return the_budget.awake.load(std::memory_order_relaxed) + 1 <=
         the_budget.cores.load(std::memory_order_relaxed);
}

// The largest answer counts, because a thread that is pinned to one core sees only that core. If the number of cores shrinks later, a
// thread that spins notices it when it is taken off its core.
void prepare_waiting() noexcept {
  const int seen = static_cast<int>(std::min<std::size_t>(usable_cores(), INT_MAX));
  for (int known = the_budget.cores; known < seen && !the_budget.cores.compare_exchange_weak(known, seen);) {
  }
  // The first team is usually made while the process has one thread. Later the kernel would take some milliseconds for this, once.
  threads_can_be_ordered.store(membarrier(register_private_expedited), std::memory_order_relaxed);
}

awake_thread::awake_thread(bool may_move) noexcept {
  the_budget.awake.fetch_add(1, std::memory_order_relaxed);
  if (may_move) may_be_moved();
}
awake_thread::~awake_thread() { the_budget.awake.fetch_sub(1, std::memory_order_relaxed); }
asleep_thread::asleep_thread() noexcept { the_budget.awake.fetch_sub(1, std::memory_order_relaxed); }
asleep_thread::~asleep_thread() { the_budget.awake.fetch_add(1, std::memory_order_relaxed); }

bool spin_watch::goes_on() noexcept {
  const std::int64_t before = now_ns();
  if (start_ == 0) start_ = before;
  if (!process_has_a_core_for_each()) return false;
  if (before - start_ < keep_for_) return true;
  if (before - start_ >= spin_for_ || before < the_budget.crowded_until.load(std::memory_order_relaxed))
    return false;
  sched_yield();
  const std::int64_t after = now_ns();
  checks_ = std::min(2 * checks_, most_checks);
  if (after - before < taken_off_ns) return true;
  be_crowded_until(after + crowded_for(after - before));
  return false;
}

bool order_all_threads() noexcept {
  if (!threads_can_be_ordered.load(std::memory_order_relaxed)) return false;
  if (membarrier(private_expedited)) return true;
  threads_can_be_ordered.store(
      false, std::memory_order_relaxed);  // for example after a new seccomp filter, or in a restored process
  return false;
}

futex_word::futex_word(std::atomic<std::uint32_t>& word) noexcept
    : address_(reinterpret_cast<std::uint32_t*>(&word)) {
  static_assert(sizeof word == sizeof(std::uint32_t));
}

futex_word::futex_word(std::atomic<std::uint64_t>& number) noexcept
    : address_(reinterpret_cast<std::uint32_t*>(&number) + (std::endian::native == std::endian::big)) {
  static_assert(sizeof number == sizeof(std::uint64_t));
}

void futex_word::sleep(std::uint64_t seen, std::uint32_t groups) noexcept {
  syscall(SYS_futex, address_, FUTEX_WAIT_BITSET_PRIVATE, static_cast<std::uint32_t>(seen), nullptr, nullptr,
          groups);
}

void futex_word::sleep_at_most(std::uint64_t seen, std::int64_t ns) noexcept {
  const timespec limit = duration_of(std::max<std::int64_t>(1, ns));
  syscall(SYS_futex, address_, FUTEX_WAIT_PRIVATE, static_cast<std::uint32_t>(seen), &limit, nullptr, 0);
}

void futex_word::wake(std::uint32_t groups) noexcept {
  syscall(SYS_futex, address_, FUTEX_WAKE_BITSET_PRIVATE, INT_MAX, nullptr, nullptr, groups);
}

bool parking_word::sleep_until(std::uint64_t value, const std::int64_t* deadline_ns) noexcept {
  while (!is(value)) {
    std::uint64_t seen = word_.load(std::memory_order_acquire);
    if ((seen | sleeper) == (value << 1 | sleeper)) return true;
    if (!(seen & sleeper) && !word_.compare_exchange_strong(seen, seen | sleeper, std::memory_order_acq_rel))
      continue;
    if (!deadline_ns) {
      futex_word(word_).sleep(seen | sleeper, futex_word::all_groups);
    } else {
      const std::int64_t left = *deadline_ns - now_ns();
      if (left <= 0) return false;
      futex_word(word_).sleep_at_most(seen | sleeper, left);
    }
  }
  return true;
}

bool parking_word::await_at_most(std::uint64_t value, std::chrono::nanoseconds limit,
                                 std::chrono::nanoseconds spin_for) noexcept {
  if (is(value)) return true;
  const std::int64_t deadline = now_ns() + limit.count();
  return spin_until([&] { return is(value); }, spin_for) || sleep_until(value, &deadline);
}

}  // namespace corescale::detail
