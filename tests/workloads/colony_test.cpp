// SPDX-License-Identifier: Apache-2.0
#include "ant_colony/colony.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <thread>

#include "ant_colony/ant_colony.hpp"
#include "ant_colony/indexed_trail.hpp"
#include "ant_colony/string_trail.hpp"
#include "build_kind.hpp"

namespace {

using ant_colony::Colony;
using ant_colony::IndexedTrail;
using ant_colony::Options;
using ant_colony::Problem;
using ant_colony::Solution;
using ant_colony::StringTrail;

const std::filesystem::path instances = TSPLIB_DIR;

class Instance : public testing::TestWithParam<std::string> {
 protected:
  std::filesystem::path file = instances / (GetParam() + ".tsp");
  Problem problem{tsplib::read(file), Options{}.candidates};
};

INSTANTIATE_TEST_SUITE_P(Tsplib, Instance,
                         testing::Values("burma14", "berlin52", "eil51", "eil76", "kroA100"));

/// Each colony by itself, the best of eight being near the optimum anyway. Builds that are slow try fewer
/// seeds.
TEST_P(Instance, MeanGapIsWithinOnePercent) {
  const double optimum = static_cast<double>(*tsplib::known_optimum(file));
  const int seeds = fast ? 10 : 2, colonies = fast ? Options{}.colonies : 1;
  double sum = 0, worst = 0;
  for (int seed = 1; seed <= seeds; ++seed) {
    Options options;
    options.seed = static_cast<std::uint64_t>(seed);
    Solution best;
    for (int colony = 0; colony < colonies; ++colony) {
      Solution found = Colony<IndexedTrail>(problem, options, colony).run();
      const double gap = static_cast<double>(found.length) / optimum - 1.0;
      EXPECT_GE(gap, 0.0);
      sum += gap / (seeds * colonies);
      best = ant_colony::better(std::move(best), std::move(found));
    }
    worst = std::max(worst, static_cast<double>(best.length) / optimum - 1.0);
  }
  RecordProperty("mean_gap_percent", std::to_string(100 * sum));
  std::cout << GetParam() << ": one colony " << 100 * sum << "% above the optimum in the mean, the best of "
            << colonies << " at most " << 100 * worst << "%\n";
  EXPECT_LE(sum, 0.01);
  EXPECT_LE(worst, 0.01);
}

TEST_P(Instance, BothTrailsGiveTheSameTour) {
  Options options;
  options.cycles = fast ? 30 : 5;
  for (int colony = 0; colony < 2; ++colony) {
    const Solution indexed = Colony<IndexedTrail>(problem, options, colony).run();
    const Solution strings = Colony<StringTrail>(problem, options, colony).run();
    EXPECT_EQ(indexed.tour, strings.tour);
    EXPECT_EQ(indexed.length, strings.length);
    EXPECT_EQ(problem.length(indexed.tour), indexed.length);
    EXPECT_TRUE(ant_colony::is_permutation(indexed.tour, problem.cities()));
  }
}

/// What the OpenMP loop does, with threads that the sanitizers understand.
TEST_P(Instance, ColoniesDoNotTouchEachOther) {
  Options options;
  options.cycles = 5;
  std::vector<Solution> together(4), alone(4);
  const auto run = [&](std::vector<Solution>& into, int colony) {
    into[static_cast<std::size_t>(colony)] = Colony<IndexedTrail>(problem, options, colony).run();
  };
  std::vector<std::thread> threads;
  for (int colony = 0; colony < 4; ++colony) threads.emplace_back(run, std::ref(together), colony);
  for (auto& thread : threads) thread.join();
  for (int colony = 0; colony < 4; ++colony) {
    run(alone, colony);
    EXPECT_EQ(alone[static_cast<std::size_t>(colony)].tour, together[static_cast<std::size_t>(colony)].tour);
  }
}

TEST(Colony, TinyAndCoincidingCities) {
  for (const int n : {3, 4, 5}) {
    tsplib::Instance instance;
    instance.points.assign(static_cast<std::size_t>(n), {1, 1});
    instance.distances.assign(static_cast<std::size_t>(n * n), 0);
    const Problem problem(instance, 15);
    Options options;
    options.cycles = 20;
    const Solution found = Colony<IndexedTrail>(problem, options, 0).run();
    EXPECT_EQ(found.length, 0);
    EXPECT_TRUE(ant_colony::is_permutation(found.tour, n));
  }
}

TEST(Colony, SeedColonyAndCycleEachChangeWhatIsDrawn) {
  std::set<std::uint64_t> first;
  for (std::uint64_t seed = 0; seed < 8; ++seed)
    for (std::uint64_t colony = 0; colony < 8; ++colony)
      for (std::uint64_t cycle = 0; cycle < 8; ++cycle)
        first.insert(driver::Random(seed, colony, cycle).bits());
  EXPECT_EQ(first.size(), 512U);
}

TEST(Random, IsUniform) {
  driver::Random random(1, 2, 3);
  const int draws = 100'000;
  std::vector<int> count(10);
  double sum = 0;
  for (int draw = 0; draw < draws; ++draw) {
    ++count[static_cast<std::size_t>(random.below(10))];
    sum += random.unit();
  }
  EXPECT_NEAR(sum / draws, 0.5, 5 / std::sqrt(12.0 * draws));
  double chi_squared = 0;
  for (const int n : count) chi_squared += (n - draws / 10.0) * (n - draws / 10.0) / (draws / 10.0);
  EXPECT_LT(chi_squared, 33.7);  // 9 degrees of freedom, 1 in 10,000
}

TEST(Solution, BetterDoesNotDependOnTheOrder) {
  const Solution none, a{10, 3, {1}}, b{10, 1, {2}}, c{9, 7, {3}};
  for (const auto& [x, y, colony] : {std::tuple(a, b, 1), std::tuple(a, c, 7), std::tuple(none, a, 3)}) {
    EXPECT_EQ(ant_colony::better(x, y).colony, colony);
    EXPECT_EQ(ant_colony::better(y, x).colony, colony);
  }
}

TEST(TourHash, IsOfTheCycle) {
  const std::vector<int> tour{0, 3, 1, 2, 4}, turned{1, 2, 4, 0, 3}, reversed{4, 2, 1, 3, 0},
      other{0, 1, 3, 2, 4};
  EXPECT_EQ(ant_colony::tour_hash(tour), ant_colony::tour_hash(turned));
  EXPECT_EQ(ant_colony::tour_hash(tour), ant_colony::tour_hash(reversed));
  EXPECT_NE(ant_colony::tour_hash(tour), ant_colony::tour_hash(other));
}

TEST(Permutation, RefusesWhatIsNone) {
  EXPECT_TRUE(ant_colony::is_permutation(std::vector{2, 0, 1}, 3));
  for (const auto& bad : {std::vector{0, 1}, {0, 1, 1}, {0, 1, 3}, {0, 1, -1}, {0, 1, 2, 0}})
    EXPECT_FALSE(ant_colony::is_permutation(bad, 3));
}

}  // namespace
