// SPDX-License-Identifier: Apache-2.0
// What is built on parallel_for: two dimensions, early exit, and scan.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "corescale/parallel_for/parallel_find.hpp"
#include "corescale/parallel_for/parallel_scan.hpp"
#include "corescale/team/any_team.hpp"

namespace corescale::test {
namespace {

TEST(TwoDimensions, EachPairRunsOnce) {
  for (const std::size_t threads : {1, 2, 5})
    for (const auto& [rows, columns] :
         std::vector<std::pair<int, unsigned>>{{0, 3}, {3, 0}, {1, 1}, {1, 1000}, {1000, 1}, {37, 41}}) {
      any_team crew = make_team(threads);
      for (const block_policy& policy : block_policies()) {
        std::vector<std::atomic<int>> runs(static_cast<std::size_t>(rows) * columns + 1);
        parallel_for_2d(crew, rows, columns,
                        [&, width = columns](int row, unsigned column) {
                          ASSERT_LT(column, width);
                          ++runs[static_cast<std::size_t>(row) * width + column];
                        },
                        {.block = policy.needs_block ? 7U : 0U, .policy = &policy});
        EXPECT_EQ(runs.back(), 0);
        for (std::size_t i = 0; i + 1 < runs.size(); ++i) ASSERT_EQ(runs[i], 1) << i << ' ' << policy.name;
      }
    }
  EXPECT_THROW(parallel_for_2d(-1, 3, [](int, int) {}), std::invalid_argument);
}

TEST(Find, GivesTheLowestAndAsksAllBelowItOnce) {
  for (const std::size_t threads : {1, 2, 5})
    for (const block_policy& policy : block_policies()) {
      any_team crew = make_team(threads);
      for (const int lowest : {-100, -99, 0, 4999, 9899, 9900}) {
        std::vector<std::atomic<int>> asked(10'000);
        const int found = parallel_find(crew, -100, 9900,
                                        [&](int i) {
                                          ++asked[static_cast<std::size_t>(i + 100)];
                                          return i == lowest || (i > lowest && i % 7 == 0);
                                        },
                                        {.block = policy.needs_block ? 7U : 0U, .policy = &policy});
        EXPECT_EQ(found, lowest);
        for (int i = -100; i < lowest; ++i) ASSERT_EQ(asked[static_cast<std::size_t>(i + 100)], 1) << i;
      }
    }
  EXPECT_EQ(parallel_find(3, 3, [](int) { return true; }), 3);
}

TEST(Find, LeavesARestUnasked) {
  any_team crew = make_team(2);
  std::atomic<std::int64_t> asked{0};
  const auto found = parallel_find(crew, std::int64_t{0}, std::int64_t{100'000'000},
                                   [&](std::int64_t i) { return ++asked, i >= 1000; }, {.block = 100});
  EXPECT_EQ(found, 1000);
  EXPECT_LT(asked, 1'000'000);
}

TEST(Scan, IsThatOfASerialLoop) {
  for (const std::size_t threads : {1, 2, 3, 7})
    for (const int n : {0, 1, 2, 3, 8, 1000, 100'000}) {
      any_team crew = make_team(threads);
      std::vector<long> seen(static_cast<std::size_t>(n), -1), expected(seen);
      std::iota(expected.begin(), expected.end(), 1L);
      std::partial_sum(expected.begin(), expected.end(), expected.begin());
      const long all = parallel_scan(
          crew, 0, n, 0L, [](int i) { return long{i} + 1; }, std::plus<>(),
          [&](int i, long value) { seen[static_cast<std::size_t>(i)] = value; });
      EXPECT_EQ(seen, expected);
      EXPECT_EQ(all, n == 0 ? 0 : expected.back());
    }
}

TEST(Scan, KeepsTheOrderOfAnOperationThatIsAssociativeOnly) {
  any_team crew = make_team(3);
  const auto letter = [](int i) { return std::string(1, static_cast<char>('a' + i % 26)); };
  std::vector<std::string> seen(60);
  const std::string all =
      parallel_scan(crew, 0, 60, std::string(), letter, std::plus<>(),
                    [&](int i, const std::string& value) { seen[static_cast<std::size_t>(i)] = value; });
  std::string expected;
  for (int i = 0; i < 60; ++i) EXPECT_EQ(seen[static_cast<std::size_t>(i)], expected += letter(i));
  EXPECT_EQ(all, expected);
}

TEST(Scan, OfBoolsSharesNoByte) {
  const bool any = parallel_scan(
      0, 1000, false, [](int i) { return i == 777; }, std::logical_or<>(),
      [](int i, bool value) { EXPECT_EQ(value, i >= 777); });
  EXPECT_TRUE(any);
}

}  // namespace
}  // namespace corescale::test
