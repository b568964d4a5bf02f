// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "ant_colony/network/colony/improvement.hpp"
#include "ant_colony/network/colony/plan.hpp"
#include "ant_colony/transition.hpp"
#include "driver/random.hpp"

namespace network {

/// alpha = 1, beta = 8, rho = xi = 0.1, q0 = 0.9 (Dzalbs and Kalganova 2020; xi from Dorigo and Gambardella 1997); the study that
/// this follows gives no parameters.
struct ColonyOptions {
  int ants = 2;
  int cycles = 4;
  double evaporation = 0.1, local_evaporation = 0.1, exploitation = 0.9;
};

/// What an iteration found. `worth` is infinite if no ant found a plan.
template <template <class> class Array>
struct Found {
  double worth = std::numeric_limits<double>::infinity();
  int iteration = std::numeric_limits<int>::max();
  Array<int> choices;
  const Month* month = nullptr;  ///< whose candidates the choices number

  /// If two are equal, the earlier iteration is better. So the best of all does not depend on the order of comparisons.
  bool better_than(double other_worth, int other_iteration) const {
    return std::pair(worth, iteration) < std::pair(other_worth, other_iteration);
  }
};

/// A colony with its own pheromone. It is Ant Colony System as for tours, but an ant gives each order a route, in a new random sequence.
/// The month, the iteration and the seed decide all random numbers. A Trail has what IndexedTrail has.
template <class Trail>
class Colony {
 public:
  template <class T>
  using Array = typename Trail::template Array<T>;

  Colony(const Month& month, const ColonyOptions& options, const typename Trail::Setting& setting,
         int iteration)
      : month_(month),
        options_(options),
        initial_(1.0 / (month.size() * std::max(month.cheapest(), 0.01))),
        trail_(month, initial_, setting),
        ant_(month, setting),
        plan_(month),
        sequence_(static_cast<std::size_t>(month.size())) {
    best_.iteration = iteration;
    best_.month = &month;
    std::iota(sequence_.begin(), sequence_.end(), 0);
  }

  Found<Array> run() {
    const auto stream =
        (static_cast<std::uint64_t>(month_.number()) << 32) + static_cast<unsigned>(best_.iteration);
    for (int cycle = 0; cycle < options_.cycles; ++cycle) {
      driver::Random random(month_.network().options().seed, stream, static_cast<std::uint64_t>(cycle));
      for (int ant = 0; ant < options_.ants; ++ant) {
        shuffle(random);
        if (build(random)) keep_if_best();
      }
      if (!best_.choices.empty()) reinforce();
    }
    if (!best_.choices.empty()) improve();
    return std::move(best_);
  }

 private:
  void shuffle(driver::Random& random) {
    for (std::size_t k = sequence_.size(); k > 1; --k)
      std::swap(sequence_[k - 1], sequence_[static_cast<std::size_t>(random.below(static_cast<int>(k)))]);
  }

  bool build(driver::Random& random) {
    plan_.clear();
    for (const int k : sequence_)
      if (!assign(k, random)) return false;
    return true;
  }

  bool assign(int k, driver::Random& random) {
    const auto ways = month_.ways(k);
    const int r =
        transition_.choose(static_cast<int>(ways.size()), options_.exploitation, random, [&](int one) {
          const bool open = plan_.fits(k, ways[static_cast<std::size_t>(one)]);
          return open ? trail_.attraction(k, one) : ant_colony::Transition::closed;
        });
    if (r < 0) return plan_.make_room(k, [this](int moved, int to) { take(moved, to); });
    plan_.put(k, r);
    take(k, r);
    return true;
  }

  void take(int k, int r) {
    ant_.take(k, r);
    trail_.mark(k, r, options_.local_evaporation, initial_);
  }

  void keep_if_best() {
    const double worth = ant_.worth(plan_.choices());
    if (worth >= best_.worth) return;
    best_.worth = worth;
    best_.choices = plan_.choices();
  }

  /// Adds and evaporates pheromone, only on the best plan so far.
  void reinforce() {
    const double amount = 1.0 / std::max(best_.worth, 0.01);
    for (int k = 0; k < month_.size(); ++k)
      trail_.mark(k, best_.choices[static_cast<std::size_t>(k)], options_.evaporation, amount);
  }

  void improve() {
    plan_.clear();
    for (int k = 0; k < month_.size(); ++k) plan_.put(k, best_.choices[static_cast<std::size_t>(k)]);
    Improvement<Array>(month_, plan_).improve();
    best_.choices = plan_.choices();
    best_.worth = worth_of<Array>(month_, best_.choices);
  }

  const Month& month_;
  ColonyOptions options_;
  double initial_;  ///< tau_0
  Trail trail_;
  typename Trail::Ant ant_;
  Plan<Array> plan_;
  Array<int> sequence_;
  ant_colony::Transition transition_;
  Found<Array> best_;
};

/// Runs one iteration of a month. If no ant of its colony finds a plan among the candidates, a second colony considers every route.
template <class Trail>
auto iterate(const Month& month, const ColonyOptions& options, const typename Trail::Setting& setting,
             int iteration) {
  auto found = Colony<Trail>(month, options, setting, iteration).run();
  if (found.choices.empty()) found = Colony<Trail>(month.whole(), options, setting, iteration).run();
  return found;
}

}  // namespace network
