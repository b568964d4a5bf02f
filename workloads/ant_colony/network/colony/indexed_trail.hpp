// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <corescale/memory/thread_allocator.hpp>
#include <vector>

#include "ant_colony/network/colony/plan.hpp"
#include "ant_colony/transition.hpp"

namespace network {

/// Arrays over all candidates of a month, in the thread's own memory: the pheromone, and its product with the visibility.
///
/// A trail has
///   attraction(k, r)           tau * visibility of order k's r-th candidate
///   mark(k, r, rate, amount)   tau = (1 - rate) tau + rate amount
/// Ant what an ant notes: take(k, r) replaces order k's candidate; worth(choices) is that of all
/// Array, Setting the arrays that colonies use; the options of the trail
class IndexedTrail {
 public:
  template <class T>
  using Array = std::vector<T, corescale::thread_allocator<T>>;
  struct Setting {};

  class Ant {
   public:
    Ant(const Month& month, Setting) : month_(month) {}
    void take(int /*k*/, int /*r*/) {}
    double worth(const Array<int>& choices) const { return worth_of<Array>(month_, choices); }

   private:
    const Month& month_;
  };

  IndexedTrail(const Month& month, double initial, Setting)
      : month_(month), tau_(month.candidates().size(), initial), attraction_(tau_.size()) {
    for (std::size_t slot = 0; slot < tau_.size(); ++slot)
      attraction_[slot] = initial * month.candidates()[slot].visibility;
  }

  double attraction(int k, int r) const { return attraction_[month_.first(k) + static_cast<std::size_t>(r)]; }

  void mark(int k, int r, double rate, double amount) {
    const std::size_t slot = month_.first(k) + static_cast<std::size_t>(r);
    tau_[slot] = ant_colony::marked(tau_[slot], rate, amount);
    attraction_[slot] = tau_[slot] * month_.candidates()[slot].visibility;
  }

 private:
  const Month& month_;
  Array<double> tau_, attraction_;
};

}  // namespace network
