// SPDX-License-Identifier: Apache-2.0
#include "corescale/machine/clock.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace corescale::test {
namespace {

// Within the first tenth of a millisecond of the process.
const double early = ns_per_tick();

TEST(Clock, TicksAreKnownBeforeMain) {
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  const double settled = ns_per_tick();
  EXPECT_GT(settled, 0);
  EXPECT_NEAR(early / settled, 1, 0.5);
}

}  // namespace
}  // namespace corescale::test
