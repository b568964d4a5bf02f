// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "build_kind.hpp"
#include "pairwise_clustering/annealing.hpp"
#include "pairwise_clustering/input/source.hpp"
#include "pairwise_clustering/rand_index.hpp"
#include "pairwise_clustering/scaling.hpp"

namespace {

using namespace pairwise_clustering;

double element(std::uint64_t stream, std::size_t i) { return driver::Random(5, stream, i).unit(); }

/// Everything on one rank and one thread.
struct Bench {
  driver::Ranks ranks;
  std::unique_ptr<driver::BlockLoop> loop = driver::make_loop("serial", 1);
  Crew crew{ranks, *loop, 4};

  Distances of(const Source& source, Precision precision = Precision::float32) {
    Distances distances(source.points, source.points, precision, source.largest(0, source.points));
    source.fill(distances, 0, crew);
    return distances;
  }

  double rand_index(const Source& source, std::size_t clusters) {
    const Distances distances = of(source);
    Options options;
    options.clusters = clusters;
    return adjusted_rand_index(Annealing(distances, crew, options).run().labels, source.planted);
  }
};

TEST(PairwiseProduct, EveryKernelAtEveryShape) {
  for (const Kernel& kernel : kernels()) {
    if (!kernel.is_present()) continue;
    for (const std::size_t panels : {1, 2, 3, 5})
      for (const std::size_t clusters : {1, 2, 5, 11, 12, 13, 30}) {
        const std::size_t n = 300, stride = panels * panel_rows;
        std::vector<float> d(panels * n * panel_rows), x(n * clusters);
        std::vector<std::uint16_t> u(d.size());
        for (std::size_t i = 0; i < d.size(); ++i) {
          u[i] = static_cast<std::uint16_t>(element(1, i) * 65535);
          d[i] = u[i];
        }
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(element(2, i));
        std::vector<double> y(stride * clusters, 1.0), z(y);
        kernel.of_floats({d.data(), n * panel_rows, panels, n}, {x.data(), clusters}, 0.5, y.data(), stride);
        kernel.of_integers({u.data(), n * panel_rows, panels, n}, {x.data(), clusters}, 0.5, z.data(),
                           stride);
        EXPECT_EQ(y, z);
        for (std::size_t row = 0; row < stride; ++row)
          for (std::size_t k = 0; k < clusters; ++k) {
            double sum = 0;
            for (std::size_t j = 0; j < n; ++j)
              sum += static_cast<double>(d[(row / panel_rows * n + j) * panel_rows + row % panel_rows]) *
                     x[j * clusters + k];
            ASSERT_NEAR(y[k * stride + row], 1 + 0.5 * sum, 1e-6 * sum) << kernel.name << ' ' << clusters;
          }
      }
  }
}

TEST(PairwiseProduct, VectorsUseFusedMultiplyAdds) {
  // -1 + (1 + 2^-12)^2: a product that is rounded by itself loses its last bit.
  const float one = 1 + 0x1p-12F;
  for (const Kernel& kernel : kernels()) {
    if (!kernel.is_present() || kernel.name == "plain") continue;
    std::vector<float> d(2 * panel_rows, one), x{1, one};
    std::fill_n(d.begin(), panel_rows, -1.0F);
    std::vector<double> y(panel_rows, 0.0);
    kernel.of_floats({d.data(), 2 * panel_rows, 1, 2}, {x.data(), 1}, 1, y.data(), panel_rows);
    EXPECT_EQ(y.front(), 0x1p-11 + 0x1p-24) << kernel.name;
  }
}

TEST(Sums, AreTheSameInAnyOrderAndPartition) {
  std::vector<double> terms(10'000);
  for (std::size_t i = 0; i < terms.size(); ++i) terms[i] = std::sin(static_cast<double>(i)) / (1.0 + i % 97);
  Sums forward(1, 1e4), backward(1, 1e4);
  for (const double one : terms) forward.add(0, forward.rounded(one));
  double parts[3] = {};
  for (std::size_t i = terms.size(); i-- > 0;) parts[i * i % 3] += backward.rounded(terms[i]);
  for (const double one : parts) backward.add(0, one);
  EXPECT_EQ(forward[0], backward[0]);
  EXPECT_NEAR(forward[0], std::accumulate(terms.begin(), terms.end(), 0.0), 1e4 * 1e4 * 0x1p-50);
  EXPECT_NE(std::accumulate(terms.begin(), terms.end(), 0.0),
            std::accumulate(terms.rbegin(), terms.rend(), 0.0));
}

TEST(RandIndex, IsThatOfAKnownExample) {
  const std::vector<std::size_t> a{0, 0, 1, 1}, b{0, 0, 1, 2}, swapped{7, 7, 3, 3}, crossed{0, 1, 0, 1};
  EXPECT_DOUBLE_EQ(adjusted_rand_index(a, b), 0.5714285714285714);  // scikit-learn's documentation
  EXPECT_DOUBLE_EQ(adjusted_rand_index(a, swapped), 1);
  EXPECT_DOUBLE_EQ(adjusted_rand_index(a, crossed), -0.5);
}

/// The largest eigenvalue of the points' covariance.
double largest_variance(const Mixture& points, std::size_t dimensions) {
  const auto n = static_cast<double>(points.size());
  std::vector<double> mean(dimensions), axis(dimensions, 1.0), next(dimensions);
  for (std::size_t i = 0; i < points.size(); ++i)
    for (std::size_t d = 0; d < dimensions; ++d) mean[d] += points.point(i)[d] / n;
  double length = 0;
  for (int step = 0; step < 500; ++step) {
    std::fill(next.begin(), next.end(), 0.0);
    for (std::size_t i = 0; i < points.size(); ++i) {
      double along = 0;
      for (std::size_t d = 0; d < dimensions; ++d) along += (points.point(i)[d] - mean[d]) * axis[d];
      for (std::size_t d = 0; d < dimensions; ++d) next[d] += along * (points.point(i)[d] - mean[d]) / n;
    }
    length = std::sqrt(std::inner_product(next.begin(), next.end(), next.begin(), 0.0));
    for (std::size_t d = 0; d < dimensions; ++d) axis[d] = next[d] / length;
  }
  return length;
}

TEST(Instability, FirstCriticalTemperatureIsTwiceTheLargestVariance) {
  Bench bench;
  for (const std::uint64_t seed : {1, 2, 3}) {
    const Mixture::Shape shape{2, 3, 2};
    const Distances distances = bench.of(from_mixture(301, shape, seed));
    MeanField field(distances, bench.crew, 2);
    const Instability unstable(field, seed, {400, 1e-13, 5});
    const double expected = 2 * largest_variance(Mixture(301, shape, seed), 3);
    EXPECT_NEAR(unstable.critical(0) / expected, 1, 2e-6);  // distances are float32
  }
}

TEST(Instability, APerturbationGrowsByTheCriticalTemperatureOverTheTemperature) {
  Bench bench;
  const Distances distances = bench.of(from_mixture(200, {2, 3, 2}, 1));
  for (const double of_critical : {1.1, 0.9}) {
    MeanField field(distances, bench.crew, 2);
    const Instability unstable(field, 1, {400, 1e-13, 5});
    const double temperature = of_critical * unstable.critical(0);
    field.duplicate(0);
    const auto root = std::sqrt(field.points());
    for (std::size_t i = 0; i < 200; ++i) {
      const double x = 1e-3 * temperature * root * unstable.direction(0)[i];
      field.energy(0)[i] += x;
      field.energy(1)[i] -= x;
    }
    double before = 0, after = 0;
    for (std::size_t i = 0; i < 200; ++i) before += std::pow(field.energy(0)[i] - field.energy(1)[i], 2);
    field.settle(temperature, 40, 1e-12);
    field.update();
    for (std::size_t i = 0; i < 200; ++i) after += std::pow(field.energy(0)[i] - field.energy(1)[i], 2);
    EXPECT_NEAR(std::sqrt(after / before), 1 / of_critical, 2e-4);
  }
}

TEST(Annealing, FindsPlantedComponents) {
  Bench bench;
  for (const std::uint64_t seed : {1, 2, 3})
    EXPECT_EQ(bench.rand_index(from_mixture(300, {5, 3, 30}, seed), 5), 1);
}

TEST(MeanField, EnergyIsHalfTheDistancesWithinClusters) {
  Bench bench;
  const Distances distances = bench.of(from_mixture(60, {3, 3, 3}, 1));
  MeanField field(distances, bench.crew, 3);
  const double temperature = distances.largest() / 20;
  for (std::size_t k = 1; k < 3; ++k) field.duplicate(0);
  for (std::size_t k = 0; k < 3; ++k)
    for (std::size_t i = 0; i < 60; ++i) field.energy(k)[i] += temperature * element(k, i);
  field.settle(temperature, 5, 0);
  field.update();
  double expected = 0;
  for (std::size_t k = 0; k < 3; ++k) {
    double sum = 0, size = 0;
    for (std::size_t i = 0; i < 60; ++i) {
      size += field.membership(k)[i];
      for (std::size_t j = 0; j < 60; ++j)
        sum += field.membership(k)[i] * field.membership(k)[j] * distances.at(i, j);
    }
    expected += sum / size / 2;
  }
  EXPECT_NEAR(field.total_energy() / expected, 1, 1e-6);
}

TEST(Annealing, TheWidestGapNamesTheNumberOfClusters) {
  Bench bench;
  const Distances distances = bench.of(from_mixture(300, {5, 3, 20}, 2));
  const Outcome outcome = Annealing(distances, bench.crew, {}).run();
  EXPECT_EQ(outcome.clusters, 5U);
  EXPECT_GT(outcome.gap, 5);
}

TEST(Annealing, NoGapIsOneCluster) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    Bench bench;
    const Distances distances = bench.of(from_mixture(200, {1, 3, 20}, seed));
    Options options;
    options.seed = seed;
    const Outcome outcome = Annealing(distances, bench.crew, options).run();
    EXPECT_EQ(outcome.clusters, 1U) << seed;
    EXPECT_GT(outcome.tree.size(), 0U) << "there were splits";
  }
}

TEST(Scaling, GivesPointsBackUpToAMotion) {
  Bench bench;
  const Source source = from_mixture(150, {3, 3, 3}, 4);
  const Distances distances = bench.of(source);
  const std::vector<Place> places = ClassicalScaling(distances, bench.crew, 1, 200).places();
  for (std::size_t i = 0; i < 150; i += 7)
    for (std::size_t j = 0; j < 150; ++j) {
      double sum = 0;
      for (std::size_t c = 0; c < 3; ++c) sum += std::pow(places[i][c] - places[j][c], 2);
      EXPECT_NEAR(sum, distances.at(i, j), 2e-3 * distances.largest());
    }
}

#ifdef CORESCALE_HAS_EDLIB
Source of_families(const FamilyShape& shape, std::uint64_t seed) {
  Families made = make_families(shape, seed);
  return from_sequences(std::move(made.sequences), std::move(made.labels));
}

TEST(EditFraction, IsThatOfKnownPairs) {
  EXPECT_DOUBLE_EQ(edit_fraction("ACGT", "ACGT"), 0);
  EXPECT_DOUBLE_EQ(edit_fraction("ACGT", "AGT"), 0.25);
  EXPECT_DOUBLE_EQ(edit_fraction("AAAA", "CCCCCCCC"), 1);
}

TEST(Annealing, FindsPlantedFamilies) {
  Bench bench;
  const std::size_t of = sanitized ? 20 : 60;
  for (const double mutation : {0.05, 0.10, 0.15})
    EXPECT_EQ(bench.rand_index(of_families({{of, of, of, of, of}, 1, 300, 0.15, mutation}, 1), 5), 1);
}

TEST(Annealing, FindsFamiliesOfVeryDifferentSizes) {
  Bench bench;
  EXPECT_EQ(bench.rand_index(of_families({{300, 100, 60, 25, 15}}, 1), 5), 1);
}

TEST(Annealing, FindsFamiliesOfFamilies) {
  Bench bench;
  EXPECT_EQ(bench.rand_index(of_families({{60, 60, 60}, 3, 300, 0.3, 0.05}, 1), 9), 1);
}

TEST(Annealing, FindsFamiliesUnderFiveTimesAsMuchNoise) {
  Bench bench;
  EXPECT_EQ(bench.rand_index(of_families({{100, 100, 100, 100, 100}, 1, 300, 0.04, 0.20}, 1), 5), 1);
}
#endif

}  // namespace
