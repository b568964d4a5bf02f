// SPDX-License-Identifier: Apache-2.0
#include "corescale/machine/clock.hpp"

#include <atomic>

namespace corescale::inline v0 {
namespace {

struct instant {
  std::uint64_t ticks;
  std::int64_t ns;
};

// Reads both clocks at once, to some 30 ns. Of several tries, it keeps the one with the least time between its two readings of the ticks.
// The first reading of the kernel's clock takes page faults, and any reading may take an interrupt.
instant both_clocks() noexcept {
  instant best{};
  std::uint64_t least = ~std::uint64_t{0};
  for (int tries = 0; tries < 3; ++tries) {
    const std::uint64_t before = ticks();
    const std::int64_t ns = now_ns();
    const std::uint64_t passed = ticks() - before;
    if (passed >= least) continue;
    least = passed;
    best = {before + passed / 2, ns};
  }
  return best;
}

// The instant at which the library was loaded, or an earlier one: in a static link, a program's own initialisers may run first and ask
// for it.
const instant& loaded() noexcept {
  static const instant first = both_clocks();
  return first;
}
[[maybe_unused]] const instant& at_load = loaded();

std::atomic<double> settled{0};

// 30 ns are 0.001% of this.
constexpr std::int64_t long_enough_ns = 3'000'000;

}  // namespace

double ns_per_tick() noexcept {
  if (const double known = settled.load(std::memory_order_relaxed); known > 0) return known;
  const instant& first = loaded();
  const instant now = both_clocks();
  if (now.ticks <= first.ticks || now.ns <= first.ns) return 1;
  const double rate = static_cast<double>(now.ns - first.ns) / static_cast<double>(now.ticks - first.ticks);
  if (now.ns - first.ns >= long_enough_ns) settled.store(rate, std::memory_order_relaxed);
  return rate;
}

}  // namespace corescale
