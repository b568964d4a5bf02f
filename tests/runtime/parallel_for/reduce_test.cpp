// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <string>

#include "corescale/parallel_for/parallel_reduce.hpp"
#include "corescale/team/any_team.hpp"

namespace corescale::test {
namespace {

double term(int i) { return 1.0 / (1 + i); }

TEST(Reduce, ASumIsThatOfASerialLoop) {
  for (const int n : {0, 1, 63, 64, 65, 100'000})
    for (const reduction how : {reduction::fastest, reduction::deterministic})
      EXPECT_EQ(parallel_reduce(
                    0, n, 0L, [](int i) { return long{i}; }, std::plus<>(), how),
                long{n} * (n - 1) / 2);
}

TEST(Reduce, DeterministicIsBitwiseTheSameForEveryTeamAndPolicy) {
  std::set<double> sums;
  for (const std::size_t threads : {1, 2, 3, 7})
    for (const block_policy& policy : block_policies()) {
      any_team crew = make_team(threads);
      for (int run = 0; run < 3; ++run)
        sums.insert(parallel_reduce(crew, 0, 10'007, 0.0, term, std::plus<>(), reduction::deterministic,
                                    {.block = policy.needs_block ? 3U : 0U, .policy = &policy}));
    }
  EXPECT_EQ(sums.size(), 1U);
}

TEST(Reduce, DeterministicKeepsTheOrder) {
  const auto letter = [](int i) { return std::string(1, static_cast<char>('a' + i % 26)); };
  const std::string text =
      parallel_reduce(0, 300, std::string(), letter, std::plus<>(), reduction::deterministic);
  ASSERT_EQ(text.size(), 300U);
  for (int i = 0; i < 300; ++i) ASSERT_EQ(text[static_cast<std::size_t>(i)], 'a' + i % 26);
}

TEST(Reduce, TheIdentityNeedNotBeADefault) {
  any_team crew = make_team(3);
  const auto larger = [](int a, int b) { return std::max(a, b); };
  for (int run = 0; run < 5; ++run)
    EXPECT_EQ(parallel_reduce(crew, -500, -100, -1'000'000, [](int i) { return i; }, larger,
                              reduction::fastest, {.block = 3}),
              -101);
}

TEST(Reduce, AnExceptionLeavesIt) {
  for (const reduction how : {reduction::fastest, reduction::deterministic})
    EXPECT_THROW(parallel_reduce(
                     0, 1000, 0, [](int i) { return i == 700 ? throw std::runtime_error("700") : i; },
                     std::plus<>(), how),
                 std::runtime_error);
}

}  // namespace
}  // namespace corescale::test
