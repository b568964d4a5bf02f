// SPDX-License-Identifier: Apache-2.0
#include "shared_core.hpp"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>

#include "corescale/machine/cache_line.hpp"

namespace corescale::inline v0::detail {
namespace {

// A cache line for each core: a thread that spins writes its own every few microseconds.
struct alignas(cache_line) mark_of_core {
  std::atomic<const core_seat*> who{nullptr};
};
constinit std::array<mark_of_core, 256> marks;

std::atomic<const core_seat*>* mark_of_this_core() noexcept {
  const auto core = static_cast<std::size_t>(sched_getcpu());  // -1, for unknown, is beyond all
  return core < marks.size() ? &marks[core].who : nullptr;
}

/// What is known of a thread of a team.
struct mover {
  bool may_move = false;
  cpu_set_t allowed_at_start{};
  std::int64_t moved = 0;  // ns, the last time
  std::int64_t stay = 0;   // ns, from then on
};
constinit thread_local mover of_this_thread;

constexpr std::int64_t least_stay = 200'000;
constexpr std::int64_t most_stay = 64 * least_stay;

// Long after the last move, a new one is as good as the first.
std::int64_t next_stay(const mover& thread, std::int64_t now_ns) noexcept {
  const bool long_ago = now_ns - thread.moved > 4 * most_stay;
  return long_ago ? least_stay : std::clamp(2 * thread.stay, least_stay, most_stay);
}

bool get_allowed(cpu_set_t& allowed) noexcept { return sched_getaffinity(0, sizeof allowed, &allowed) == 0; }

}  // namespace

core_seat::core_seat() noexcept : mark_(mark_of_this_core()) {
  if (mark_) mark_->store(this, std::memory_order_relaxed);
}

bool core_seat::was_taken() const noexcept {
  return mark_ && mark_ == mark_of_this_core() && mark_->load(std::memory_order_relaxed) != this;
}

void may_be_moved() noexcept { of_this_thread.may_move = get_allowed(of_this_thread.allowed_at_start); }

// Some 5 us, for a thread that has just waited as long as another one ran.
bool some_core_is_idle() noexcept {
  char text[64] = {};
  const int file = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
  if (file < 0) return true;
  const ssize_t size = read(file, text, sizeof text - 1);
  close(file);
  long ready = 0;  // of the whole machine: the number before the slash, behind three averages
  return size <= 0 || std::sscanf(text, "%*s %*s %*s %ld/", &ready) != 1 ||
         ready <= sysconf(_SC_NPROCESSORS_ONLN);
}

void find_another_core(std::int64_t now_ns, bool (*is_idle)() noexcept) noexcept {
  mover& thread = of_this_thread;
  if (!thread.may_move || now_ns < thread.moved + thread.stay) return;
  cpu_set_t allowed;
  thread.may_move = get_allowed(allowed) && CPU_EQUAL(&allowed, &thread.allowed_at_start);
  if (!thread.may_move) return;
  thread.stay = next_stay(thread, now_ns);
  thread.moved = now_ns;
  if (!is_idle()) return;
  cpu_set_t others = allowed;
  CPU_CLR(static_cast<std::size_t>(sched_getcpu()), &others);
  if (sched_setaffinity(0, sizeof others, &others)) return;  // there is no other one
  if (get_allowed(allowed) && CPU_EQUAL(&allowed, &others))
    sched_setaffinity(0, sizeof thread.allowed_at_start, &thread.allowed_at_start);
}

}  // namespace corescale::detail
