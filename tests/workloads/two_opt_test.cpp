// SPDX-License-Identifier: Apache-2.0
#include "ant_colony/two_opt.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "ant_colony/ant_colony.hpp"

namespace {

tsplib::Instance random_instance(int n, std::mt19937& random, int side) {
  std::uniform_int_distribution<int> place(0, side);
  tsplib::Instance instance;
  for (int i = 0; i < n; ++i) instance.points.push_back({double(place(random)), double(place(random))});
  for (const auto a : instance.points)
    for (const auto b : instance.points) instance.distances.push_back(tsplib::euclidean(a, b));
  return instance;
}

/// No exchange of two edges gains, tried one by one.
bool is_two_optimal(const ant_colony::Problem& problem, const std::vector<int>& tour) {
  const std::size_t n = tour.size();
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = i + 1; j < n; ++j) {
      const int a = tour[i], b = tour[(i + 1) % n], c = tour[j], d = tour[(j + 1) % n];
      if (problem.distance(a, c) + problem.distance(b, d) < problem.distance(a, b) + problem.distance(c, d))
        return false;
    }
  return true;
}

TEST(TwoOpt, ReachesALocalOptimumAndTellsItsGain) {
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    const int n = 3 + round % 60;
    // A small side gives many equal and zero distances.
    const ant_colony::Problem problem(random_instance(n, random, round % 2 ? 1000 : 5), n);
    ant_colony::TwoOpt two_opt(problem);
    std::vector<int> tour(static_cast<std::size_t>(n));
    std::iota(tour.begin(), tour.end(), 0);
    for (int again = 0; again < 3; ++again) {  // the workspace is used again
      std::shuffle(tour.begin(), tour.end(), random);
      const long before = problem.length(tour);
      const long gain = two_opt.improve(tour);
      EXPECT_GE(gain, 0);
      EXPECT_EQ(problem.length(tour), before - gain);
      EXPECT_TRUE(ant_colony::is_permutation(tour, n));
      // Don't-look bits may leave a gain that only a city asleep could see; a pass that finds none has asked
      // all.
      while (two_opt.improve(tour) > 0) continue;
      EXPECT_TRUE(is_two_optimal(problem, tour)) << "n = " << n;
    }
  }
}

TEST(Problem, CandidatesAreTheNearest) {
  std::mt19937 random(3);
  const ant_colony::Problem problem(random_instance(40, random, 100), 7);
  ASSERT_EQ(problem.candidates(), 7);
  for (int i = 0; i < 40; ++i) {
    const auto candidates = problem.candidates(i);
    const int farthest = problem.distance(i, candidates.back());
    int nearer = 0;
    for (int j = 0; j < 40; ++j) nearer += j != i && problem.distance(i, j) < farthest;
    EXPECT_LT(nearer, 7);
    EXPECT_EQ(std::count(candidates.begin(), candidates.end(), i), 0);
    EXPECT_TRUE(std::is_sorted(candidates.begin(), candidates.end(), [&](int a, int b) {
      return problem.distance(i, a) < problem.distance(i, b);
    }));
  }
}

TEST(Problem, HasAtMostAllOthersAsCandidates) {
  std::mt19937 random(3);
  EXPECT_EQ(ant_colony::Problem(random_instance(3, random, 9), 15).candidates(), 2);
}

}  // namespace
