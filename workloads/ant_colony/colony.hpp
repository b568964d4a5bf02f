// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "ant_colony/problem.hpp"
#include "ant_colony/transition.hpp"
#include "ant_colony/two_opt.hpp"
#include "driver/random.hpp"

namespace ant_colony {

/// Defaults are those of Dorigo and Gambardella (1997), alpha 1 and beta 2 fixed.
struct Options {
  int colonies = 8;  ///< enough for eight threads
  int cycles = 200;  ///< after 200, one colony alone is within 1% of the optimum up to 100 cities
  int ants = 10;
  std::uint64_t seed = 1;
  int candidates = 15;             ///< nearest cities that an ant looks at first
  double evaporation = 0.1;        ///< rho, for the edges of the best tour, at the end of a cycle
  double local_evaporation = 0.1;  ///< xi, for an edge at the moment when an ant takes it
  double exploitation = 0.9;       ///< q0: how often an ant takes the best candidate instead of drawing one
};

struct Solution {
  long length = std::numeric_limits<long>::max();
  int colony = std::numeric_limits<int>::max();
  std::vector<int> tour;
};

/// The shorter tour; if two are equal, that of the earlier colony. So the best of all does not depend on the order of comparisons.
inline Solution better(Solution a, Solution b) {
  return std::tie(b.length, b.colony) < std::tie(a.length, a.colony) ? std::move(b) : std::move(a);
}

/// Ant Colony System with 2-opt (Dorigo and Gambardella 1997, section III): `index` and the seed decide all random numbers, so colonies may
/// run anywhere and in any order. A colony allocates its memory when it is constructed; with IndexedTrail, none after that.
template <class Trail>
class Colony {
 public:
  Colony(const Problem& problem, const Options& options, int index)
      : problem_(problem),
        options_(options),
        initial_(1.0 / (static_cast<double>(problem.cities()) *
                        static_cast<double>(std::max(1L, problem.nearest_neighbour_length())))),
        trail_(problem, initial_),
        two_opt_(problem) {
    best_.colony = index;
    for (int ant = 0; ant < options.ants; ++ant) ants_.emplace_back(problem);
  }

  Solution run() {
    for (int cycle = 0; cycle < options_.cycles; ++cycle) {
      driver::Random random(options_.seed, static_cast<std::uint64_t>(best_.colony),
                            static_cast<std::uint64_t>(cycle));
      build(random);
      for (const Ant& ant : ants_) improve(ant);
      reinforce();
    }
    return best_;
  }

 private:
  struct Ant {
    explicit Ant(const Problem& problem)
        : route(problem), visited(static_cast<std::size_t>(problem.cities())) {}
    typename Trail::Route route;
    std::vector<char> visited;
  };

  /// All ants go to their next city before any ant goes on, so that each sees the marks of the others.
  void build(driver::Random& random) {
    for (Ant& ant : ants_) {
      std::fill(ant.visited.begin(), ant.visited.end(), false);
      const int city = random.below(problem_.cities());
      ant.route.start(city);
      ant.visited[static_cast<std::size_t>(city)] = true;
    }
    for (int step = 1; step < problem_.cities(); ++step)
      for (Ant& ant : ants_) go_on(ant, random);
  }

  void go_on(Ant& ant, driver::Random& random) {
    const int here = ant.route.here();
    const auto candidates = problem_.candidates(here);
    const auto attraction = [&](int r) {
      const bool open = !ant.visited[static_cast<std::size_t>(candidates[static_cast<std::size_t>(r)])];
      return open ? trail_.attraction(here, r) : Transition::closed;
    };
    const int r = transition_.choose(problem_.candidates(), options_.exploitation, random, attraction);
    int next = r < 0 ? -1 : candidates[static_cast<std::size_t>(r)];
    if (next < 0) next = best_of_all(ant, here);
    ant.visited[static_cast<std::size_t>(next)] = true;
    ant.route.go_to(next);
    trail_.mark(here, next, options_.local_evaporation, initial_);
  }

  /// The most attractive city that is not visited; used if all candidates are visited.
  int best_of_all(const Ant& ant, int here) const {
    double most = -1.0;
    int best = -1;
    for (int city = 0; city < problem_.cities(); ++city) {
      if (ant.visited[static_cast<std::size_t>(city)]) continue;
      const double attraction = trail_.attraction_to(here, city);
      if (attraction > most) most = attraction, best = city;
    }
    return best;
  }

  void improve(const Ant& ant) {
    ant.route.copy_to(tour_);
    const long length = problem_.length(tour_) - two_opt_.improve(tour_);
    if (length >= best_.length) return;
    best_.length = length;
    best_.tour = tour_;
  }

  /// Adds and evaporates pheromone, only on the best tour so far.
  void reinforce() {
    const double amount = 1.0 / static_cast<double>(std::max(1L, best_.length));
    int last = best_.tour.back();
    for (const int city : best_.tour)
      trail_.mark(std::exchange(last, city), city, options_.evaporation, amount);
  }

  const Problem& problem_;
  Options options_;
  double initial_;  ///< tau_0 = 1 / (n L_nn)
  Trail trail_;
  TwoOpt two_opt_;
  std::vector<Ant> ants_;
  std::vector<int> tour_;
  Transition transition_;
  Solution best_;
};

}  // namespace ant_colony
