// SPDX-License-Identifier: Apache-2.0
#include "driver/block_loop.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>

#include "build_kind.hpp"
#include "driver/error.hpp"

namespace {

class EveryLoop : public testing::TestWithParam<std::string> {
 protected:
  std::vector<std::size_t> sizes() const {
    if (GetParam() == "serial") return {1};
    if (tsan && (GetParam() == "openmp" || GetParam() == "tbb"))
      return {1};  // libraries without instrumentation
    return {1, 2, 5};
  }
};

TEST_P(EveryLoop, RunsEachBlockOnce) {
  for (const std::size_t threads : sizes()) {
    const auto loop = driver::make_loop(GetParam(), threads);
    EXPECT_EQ(loop->num_threads(), threads);
    for (const std::size_t blocks : {0, 1, 2, 3, 8, 1000}) {
      std::vector<std::atomic<int>> runs(blocks);
      loop->run(blocks, [&](std::size_t b) { ++runs.at(b); });
      for (const auto& one : runs) EXPECT_EQ(one, 1) << GetParam() << ' ' << threads << ' ' << blocks;
    }
  }
}

TEST_P(EveryLoop, ThrowsWhatABlockThrewAndStaysUsable) {
  for (const std::size_t threads : sizes()) {
    const auto loop = driver::make_loop(GetParam(), threads);
    const auto fails = [](std::size_t b) {
      if (b == 3) throw std::out_of_range("block 3");
    };
    EXPECT_THROW(loop->run(8, fails), std::out_of_range) << GetParam();
    std::atomic<int> runs = 0;
    loop->run(8, [&](std::size_t) { ++runs; });
    EXPECT_EQ(runs, 8);
  }
}

TEST_P(EveryLoop, UsesItsThreads) {
  if (sizes().size() == 1) GTEST_SKIP() << "one thread alone";
  const auto loop = driver::make_loop(GetParam(), 2);
  // The first block waits for the second, so both must be at work at once.
  std::atomic<bool> other = false;
  loop->run(2, [&](std::size_t b) {
    if (b == 1) other = true;
    while (!other) std::this_thread::yield();
  });
  EXPECT_TRUE(other);
}

INSTANTIATE_TEST_SUITE_P(Systems, EveryLoop, testing::ValuesIn(driver::loop_systems()),
                         [](const auto& system) { return system.param; });

TEST(BlockLoop, RefusesWhatCannotBe) {
  EXPECT_THROW(driver::make_loop("fibres", 1), driver::Error);
  EXPECT_THROW(driver::make_loop("serial", 2), driver::Error);
  EXPECT_THROW(driver::make_loop("spin", 0), driver::Error);
}

}  // namespace
