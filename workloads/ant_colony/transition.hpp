// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "driver/random.hpp"

namespace ant_colony {

/// The step of an ant (Dorigo and Gambardella 1997, equations 3 and 4). With probability q0 it takes the candidate that attracts most, else
/// one drawn in proportion. Allocates only for the first choice of a size.
class Transition {
 public:
  /// attraction(r) > 0 for r in 0 .. count - 1, or closed. Returns -1 if all are closed; of equals, the first.
  static constexpr double closed = 0.0;

  template <class Attraction>
  int choose(int count, double exploitation, driver::Random& random, const Attraction& attraction) {
    return random.unit() < exploitation ? best(count, attraction) : drawn(count, random, attraction);
  }

 private:
  template <class Attraction>
  static int best(int count, const Attraction& attraction) {
    double most = closed;
    int best = -1;
    for (int r = 0; r < count; ++r) {
      const double here = attraction(r);
      if (here > most) most = here, best = r;
    }
    return best;
  }

  template <class Attraction>
  int drawn(int count, driver::Random& random, const Attraction& attraction) {
    double sum = 0.0;
    weights_.resize(static_cast<std::size_t>(count));
    for (int r = 0; r < count; ++r) sum += weights_[static_cast<std::size_t>(r)] = attraction(r);
    double left = random.unit() * sum;
    int drawn = -1;
    for (int r = 0; r < count && left >= 0.0; ++r) {
      if (weights_[static_cast<std::size_t>(r)] == closed) continue;
      drawn = r;  // rounding may leave some of `left` after the last one
      left -= weights_[static_cast<std::size_t>(r)];
    }
    return drawn;
  }

  std::vector<double> weights_;
};

/// The pheromone after evaporation and after an amount was added: tau = (1 - rate) tau + rate amount.
inline double marked(double tau, double rate, double amount) { return (1.0 - rate) * tau + rate * amount; }

}  // namespace ant_colony
