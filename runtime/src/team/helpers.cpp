// SPDX-License-Identifier: Apache-2.0
#include "helpers.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <ctime>
#include <thread>
#include <vector>

#include "corescale/machine/topology.hpp"

namespace corescale::detail {
namespace {

// Checks between two looks at the clock: 64 pauses take 0.5 to 3 us, so the clock is under 5% of the
// spinning.
constexpr int checks_per_look = 64;

// Longer between two looks at the clock than any pause or interrupt: this thread was off its core, which
// others want.
constexpr std::int64_t preempted_ns = 50'000;

long futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value,
           const timespec* timeout) noexcept {
  static_assert(sizeof word == sizeof(std::uint32_t));
  return syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), operation | FUTEX_PRIVATE_FLAG, value,
                 timeout, nullptr, 0);
}

timespec duration_of(std::int64_t ns) noexcept { return {ns / 1'000'000'000, ns % 1'000'000'000}; }

}  // namespace

// A pause between checks even at first: polling without one draws the line away from the thread that is about
// to write it.
bool parking_word::spin_until(std::uint32_t value, std::chrono::nanoseconds spin_for) const noexcept {
  std::int64_t start = 0;  // the first look, so that a short wait never asks for the time
  for (std::int64_t last = 0;;) {
    for (int check = 0; check < checks_per_look; ++check) {
      if (is(value)) return true;
      cpu_pause();
    }
    const std::int64_t now = now_ns();
    if (start == 0) start = last = now;
    if (now - start >= spin_for.count() || now - last >= preempted_ns) return false;
    last = now;
  }
}

bool parking_word::sleep_until(std::uint32_t value, const std::int64_t* deadline_ns) noexcept {
  while (!is(value)) {
    std::uint32_t seen = word_.load(std::memory_order_acquire);
    if ((seen & ~sleeper) == value << 1) return true;
    if (!(seen & sleeper) && !word_.compare_exchange_strong(seen, seen | sleeper, std::memory_order_acq_rel))
      continue;
    timespec left{};
    if (deadline_ns) {
      if (*deadline_ns <= now_ns()) return false;
      left = duration_of(std::max<std::int64_t>(1, *deadline_ns - now_ns()));
    }
    futex(word_, FUTEX_WAIT, seen | sleeper, deadline_ns ? &left : nullptr);
  }
  return true;
}

bool parking_word::await_at_most(std::uint32_t value, std::chrono::nanoseconds limit) noexcept {
  const std::int64_t deadline = now_ns() + limit.count();
  return sleep_until(value, &deadline);
}

void parking_word::wake_all() noexcept { futex(word_, FUTEX_WAKE, INT_MAX, nullptr); }

std::chrono::nanoseconds spin_time(std::size_t num_threads, std::chrono::nanoseconds wanted) noexcept {
  return num_threads <= usable_cores() ? wanted : std::chrono::nanoseconds::zero();
}

bool can_start_threads(std::size_t n) noexcept {
  std::vector<std::thread> probes;
  countdown_latch end(1);
  bool all = true;
  try {
    probes.reserve(n);
    for (std::size_t started = 0; started < n; ++started)
      probes.emplace_back([&end] { end.wait(std::chrono::nanoseconds::zero()); });
  } catch (...) {
    all = false;
  }
  end.arrive();
  for (std::thread& probe : probes) probe.join();
  return all;
}

}  // namespace corescale::detail
