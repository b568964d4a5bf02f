// SPDX-License-Identifier: Apache-2.0
#include "shared_core.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>

#include "corescale/machine/cache_line.hpp"

namespace corescale::inline v0::detail {
namespace {

// There is a cache line for each core, because every thread of a team writes that of its core in each round.
struct alignas(cache_line) mark_of_core {
  std::atomic<std::uint64_t> last_share{0};
};
constinit std::array<mark_of_core, 256> marks;

/// What is known about a thread of a team.
struct mover {
  bool may_move = false;
  cpu_set_t allowed_at_start{};
  std::int64_t moved = 0;  // ns, the last time
  std::int64_t stay = 0;   // ns, from then on
};
constinit thread_local mover of_this_thread;

constexpr std::int64_t least_stay = 200'000;
constexpr std::int64_t most_stay = 64 * least_stay;

// A move long after the last one counts as the first.
std::int64_t next_stay(const mover& thread, std::int64_t now_ns) noexcept {
  const bool long_ago = now_ns - thread.moved > 4 * most_stay;
  return long_ago ? least_stay : std::clamp(2 * thread.stay, least_stay, most_stay);
}

bool get_allowed(cpu_set_t& allowed) noexcept { return sched_getaffinity(0, sizeof allowed, &allowed) == 0; }

}  // namespace

void may_be_moved() noexcept { of_this_thread.may_move = get_allowed(of_this_thread.allowed_at_start); }

// A team is not identified by its address, because a later team may have the same address, and would then find marks ahead of its own.
std::uint64_t mark_of_a_team() noexcept {
  static constinit std::atomic<std::uint64_t> teams{0};
  return teams.fetch_add(1, std::memory_order_relaxed) * 0x9e3779b97f4a7c15U;
}

// Rounds by which a thread may be ahead of another one of its team.
constexpr std::uint64_t recent = 1 << 16;

bool shares_core(std::uint64_t mark, std::uint64_t round) noexcept {
  const auto core = static_cast<std::size_t>(sched_getcpu());  // -1, for unknown, is beyond all
  if (core >= marks.size()) return false;
  std::atomic<std::uint64_t>& last = marks[core].last_share;
  const std::uint64_t own = mark + round;
  if (last.load(std::memory_order_relaxed) - own < recent) return true;
  last.store(own, std::memory_order_relaxed);
  return false;
}

void find_another_core(std::int64_t now_ns) noexcept {
  mover& thread = of_this_thread;
  if (!thread.may_move || now_ns < thread.moved + thread.stay) return;
  cpu_set_t allowed;
  thread.may_move = get_allowed(allowed) && CPU_EQUAL(&allowed, &thread.allowed_at_start);
  if (!thread.may_move) return;
  thread.stay = next_stay(thread, now_ns);
  thread.moved = now_ns;
  cpu_set_t others = allowed;
  CPU_CLR(static_cast<std::size_t>(sched_getcpu()), &others);
  if (sched_setaffinity(0, sizeof others, &others)) return;  // there is no other core
  if (get_allowed(allowed) && CPU_EQUAL(&allowed, &others))
    sched_setaffinity(0, sizeof thread.allowed_at_start, &thread.allowed_at_start);
}

}  // namespace corescale::detail
