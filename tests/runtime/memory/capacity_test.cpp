// SPDX-License-Identifier: Apache-2.0
#include "corescale/memory/capacity.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace {

using corescale::capacity_at;
using corescale::capacity_index;
using corescale::num_capacities;

static_assert(capacity_at(0) == 128 && capacity_at(1) == 192 && capacity_at(2) == 288 &&
              capacity_at(7) == 2187);

std::size_t by_linear_search(std::size_t bytes) {
  std::size_t i = 0;
  while (i < num_capacities && capacity_at(i) < bytes) ++i;
  return i;
}

TEST(Capacity, FollowsThePapersRecurrence) {
  for (std::size_t i = 0; i + 1 < num_capacities; ++i)
    EXPECT_EQ(capacity_at(i + 1), 3 * ((capacity_at(i) + 1) / 2)) << i;
}

TEST(Capacity, IsTheLeastThatFitsForEverySizeToOneMegabyte) {
  std::size_t least = 0;
  for (std::size_t bytes = 0; bytes <= std::size_t{1} << 20; ++bytes) {
    while (capacity_at(least) < bytes) ++least;
    ASSERT_EQ(capacity_index(bytes), least) << bytes;
  }
}

TEST(Capacity, IsTheLeastThatFitsAroundEveryCapacityAndPowerOfTwo) {
  for (std::size_t i = 0; i < num_capacities; ++i)
    for (std::size_t bytes = capacity_at(i) - 2; bytes <= capacity_at(i) + 2; ++bytes)
      ASSERT_EQ(capacity_index(bytes), by_linear_search(bytes)) << bytes;
  for (int k = 2; k < std::numeric_limits<std::size_t>::digits; ++k)
    for (std::size_t half = 2; half < 4; ++half)
      for (std::size_t off = 0; off < 3; ++off) {
        const std::size_t bytes = (half << (k - 1)) + off - 1;
        ASSERT_EQ(capacity_index(bytes), by_linear_search(bytes)) << bytes;
      }
}

TEST(Capacity, HasNoneForWhatIsTooLarge) {
  EXPECT_EQ(capacity_index(capacity_at(num_capacities - 1) + 1), num_capacities);
  EXPECT_EQ(capacity_index(std::numeric_limits<std::size_t>::max()), num_capacities);
}

}  // namespace
