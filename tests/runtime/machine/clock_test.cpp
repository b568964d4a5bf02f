// SPDX-License-Identifier: Apache-2.0
#include "corescale/machine/clock.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <thread>

namespace corescale::test {
namespace {

// Before main, and in a static link perhaps before the library's own initialisers: what is asked then may not settle the rate.
const double early = ns_per_tick();

struct instant {
  std::uint64_t ticks;
  std::int64_t ns;
};

/// Of many looks at both clocks the one that took least, as a busy machine may come between.
instant undisturbed_look() {
  instant best{};
  std::uint64_t least = ~std::uint64_t{0};
  for (int looks = 0; looks < 100; ++looks) {
    const std::uint64_t before = ticks();
    const std::int64_t ns = now_ns();
    const std::uint64_t took = ticks() - before;
    if (took < least) least = took, best = {before, ns};
  }
  return best;
}

TEST(Clock, ATickIsAsLongAsBothClocksSayBetweenTwoLooks) {
  const instant first = undisturbed_look();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const instant then = undisturbed_look();
  const double seen = static_cast<double>(then.ns - first.ns) / static_cast<double>(then.ticks - first.ticks);
  EXPECT_NEAR(ns_per_tick() / seen, 1, 0.05);
  EXPECT_GT(early, 0);
}

}  // namespace
}  // namespace corescale::test
