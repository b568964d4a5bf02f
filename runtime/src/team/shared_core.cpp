// SPDX-License-Identifier: Apache-2.0
#include "shared_core.hpp"

#include <sched.h>

#include <array>
#include <cstddef>

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

constinit thread_local bool movable = false;
constinit thread_local std::int64_t stays_until = 0;
constexpr std::int64_t stay_ns = 200'000;

}  // namespace

core_seat::core_seat() noexcept : mark_(mark_of_this_core()) {
  if (mark_) mark_->store(this, std::memory_order_relaxed);
}

void may_be_moved() noexcept { movable = true; }

void find_another_core(std::int64_t now_ns) noexcept {
  if (!movable || now_ns < stays_until) return;
  stays_until = now_ns + stay_ns;
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed))
    return;  // a machine of more cores than a cpu_set_t names
  cpu_set_t others = allowed;
  CPU_CLR(static_cast<std::size_t>(sched_getcpu()), &others);
  if (sched_setaffinity(0, sizeof others, &others)) return;  // no other one: pinned
  sched_setaffinity(0, sizeof allowed, &allowed);
}

}  // namespace corescale::detail
