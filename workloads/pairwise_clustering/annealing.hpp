// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "pairwise_clustering/mean_field.hpp"
#include "pairwise_clustering/split.hpp"

namespace pairwise_clustering {

struct Options {
  std::size_t clusters = 0;   ///< 0: the widest gap between the temperatures of two splits decides
  std::size_t at_most = 10;   ///< the most clusters, if `clusters` is 0
  std::uint64_t seed = 1;     ///< seed of the power method's start
  double cooling = 0.9;       ///< the next temperature, relative to this one
  double after_split = 0.97;  ///< the same, once there has been a split
  double least_size = 5;      ///< points in a cluster that may split; half of the mean size, if that is less
  std::size_t wait = 3;       ///< temperatures from a split to the next test
  std::size_t most_steps = 40;    ///< most steps of M and P at fixed energies
  std::size_t most_passes = 100;  ///< most passes at one temperature
  double settled = 1e-3;          ///< sum |dM| / N, and mean |d eps| / T, below which nothing moves
  double frozen = 2e-3;           ///< fuzziness below which every point has its cluster
  double coldest = 1e-5;          ///< the last temperature, relative to the first
  double least_gap =
      1.5;  ///< below it no number of clusters stands out, and there is one. A single Gaussian has gaps of 1.06.
};

struct AtTemperature {
  double temperature;
  std::size_t clusters;
  double energy;  ///< H
  std::size_t passes, power_steps;
};

struct Split {
  double temperature;
  std::size_t parent, child;  ///< the child takes the next number
};

struct Outcome {
  std::size_t clusters = 1;
  double energy = 0;  ///< H
  double gap =
      0;  ///< temperature at which this number of clusters began, over that at which it ended; 0 if it was given
  std::vector<std::size_t> labels;  ///< labels of this rank's rows
  std::vector<AtTemperature> history;
  std::vector<Split> tree;
};

/// The cluster with the largest membership, of each row.
inline std::vector<std::size_t> labels_of(const MeanField& field) {
  std::vector<std::size_t> labels(field.distances().rows(), 0);
  for (std::size_t i = 0; i < labels.size(); ++i)
    for (std::size_t k = 1; k < field.size(); ++k)
      if (field.membership(k)[i] > field.membership(labels[i])[i]) labels[i] = k;
  return labels;
}

inline double mean_distance(MeanField& field) { return 2 * field.total_energy() / field.points(); }

/// Cools until the clusters exist and are frozen, and splits clusters that become unstable on the way.
class Annealing {
 public:
  Annealing(const Distances& distances, const Crew& crew, const Options& options)
      : options_(options), field_(distances, crew, most()), temperature_(2 * mean_distance(field_)) {}

  Outcome run() {
    const double coldest = options_.coldest * temperature_;
    double cooling = options_.cooling;
    for (std::size_t since = options_.wait; temperature_ > coldest; temperature_ *= cooling) {
      relax();
      const bool tested =
          (field_.size() < most() || free()) && (++since >= options_.wait || field_.size() == 1);
      if (!tested && !free() && field_.size() == most() && field_.fuzziness() < options_.frozen) break;
      if (!tested) continue;
      PowerOptions power;
      power.least_size = least_size();
      Instability unstable(field_, options_.seed, power);
      outcome_.history.back().power_steps = unstable.steps();
      const std::vector<std::size_t> splitting = unstable_clusters(unstable);
      if (splitting.empty()) continue;
      remember();
      if (field_.size() == most()) break;
      for (const std::size_t k : splitting) {
        if (field_.size() == most()) break;
        outcome_.tree.push_back({temperature_, k, split(field_, k, unstable, temperature_)});
      }
      cooling = options_.after_split;
      since = 0;
      temperature_ /= cooling;  // no cooling at a split
    }
    return free() ? widest_gap() : finished();
  }

 private:
  struct Seen {
    double began, ended;
    Outcome outcome;
  };

  bool free() const { return options_.clusters == 0; }
  double least_size() const {
    return free() ? options_.least_size
                  : std::min(options_.least_size, field_.points() / (2 * static_cast<double>(most())));
  }
  std::size_t most() const { return free() ? options_.at_most : options_.clusters; }

  /// Makes passes at this temperature, until the energies no longer change.
  void relax() {
    std::size_t passes = 0;
    double change = 0;
    do {
      field_.settle(temperature_, options_.most_steps, options_.settled);
      change = field_.update();
    } while (++passes < options_.most_passes && change >= options_.settled * temperature_);
    outcome_.history.push_back({temperature_, field_.size(), field_.total_energy(), passes, 0});
  }

  /// The largest critical temperature first.
  std::vector<std::size_t> unstable_clusters(const Instability& unstable) const {
    std::vector<std::size_t> found;
    for (std::size_t k = 0; k < field_.size(); ++k)
      if (unstable.critical(k) > temperature_ && field_.mass(k) > least_size()) found.push_back(k);
    std::ranges::sort(found, std::greater{}, [&](std::size_t k) { return unstable.critical(k); });
    return found;
  }

  Outcome finished() const {
    Outcome made = outcome_;
    made.clusters = field_.size();
    made.energy = field_.total_energy();
    made.labels = labels_of(field_);
    return made;
  }

  /// Notes that this number of clusters ends at this temperature.
  void remember() {
    const double began = outcome_.tree.empty() ? temperature_ : outcome_.tree.back().temperature;
    if (free()) seen_.push_back({began, temperature_, finished()});
  }

  Outcome widest_gap() {
    if (seen_.empty() || seen_.back().outcome.clusters != field_.size()) remember();
    const auto gap = [](const Seen& one) { return one.began / one.ended; };
    const auto by_gap = std::ranges::max_element(seen_, {}, gap);
    const Seen& widest = gap(*by_gap) < options_.least_gap ? seen_.front() : *by_gap;
    Outcome made = widest.outcome;
    made.gap = gap(widest);
    made.history = outcome_.history;
    made.tree = outcome_.tree;
    return made;
  }

  Options options_;
  MeanField field_;
  double temperature_;
  Outcome outcome_;
  std::vector<Seen> seen_;
};

/// Work that no rounding changes, to be timed: K clusters from a seeded start, `temperatures`, and at each of them `passes`
/// of `steps` steps of M and P, and `power_steps` of the power method.
struct FixedWork {
  std::size_t clusters, temperatures, passes, power_steps;
  std::uint64_t seed;
  std::size_t steps = 10;
};

inline Outcome anneal_fixed(const Distances& distances, const Crew& crew, const FixedWork& work) {
  MeanField field(distances, crew, work.clusters);
  double temperature = mean_distance(field) / 4;
  const std::size_t from = crew.ranks.first_of(distances.size(), crew.ranks.rank());
  while (field.size() < work.clusters) field.duplicate(0);
  for (std::size_t k = 0; k < work.clusters; ++k) {
    field.clusters()[k].prior = 1 / static_cast<double>(work.clusters);
    for (std::size_t i = 0; i < distances.rows(); ++i)
      field.energy(k)[i] += temperature * (driver::Random(work.seed, k, from + i).unit() - 0.5);
  }
  Outcome outcome;
  for (std::size_t t = 0; t < work.temperatures; ++t, temperature *= Options{}.cooling) {
    for (std::size_t pass = 0; pass < work.passes; ++pass) {
      field.settle(temperature, work.steps, 0);
      field.update();
    }
    const Instability unstable(field, work.seed, {work.power_steps, 0, work.power_steps});
    outcome.history.push_back(
        {temperature, field.size(), field.total_energy(), work.passes, unstable.steps()});
  }
  outcome.clusters = field.size();
  outcome.energy = field.total_energy();
  outcome.labels = labels_of(field);
  return outcome;
}

}  // namespace pairwise_clustering
