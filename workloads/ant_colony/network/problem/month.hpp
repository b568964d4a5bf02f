// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "ant_colony/network/problem/network.hpp"

namespace network {

/// The part of a candidate that a search reads. The Ways of a month take a fifth of the memory of its Routes.
struct Way {
  int warehouse, lane;
  double fixed;  ///< worth without freight
};

/// The orders of one month. They leave on one day, as do all orders of the public data set. Every colony reads a month, and none writes it.
/// Here an order is a number from 0; candidates are numbered over all orders, those of order k from first(k) on.
class Month {
 public:
  /// Throws driver::Error if an order has no route, or the warehouses too little capacity for all.
  Month(const Network& network, int number);

  const Network& network() const { return network_; }
  int number() const { return number_; }
  int size() const { return static_cast<int>(orders_.size()); }
  const Order& order(int k) const { return network_.tables().orders[at(orders_, k)]; }
  double weight(int k) const { return weights_[static_cast<std::size_t>(k)]; }
  std::size_t first(int k) const { return first_[static_cast<std::size_t>(k)]; }
  std::span<const Route> candidates(int k) const { return {&routes_[first(k)], first(k + 1) - first(k)}; }
  std::span<const Route> candidates() const { return routes_; }
  std::span<const Way> ways(int k) const { return {&ways_[first(k)], first(k + 1) - first(k)}; }
  /// How many candidates of an order are the best routes of its warehouses, one for each warehouse. They come first.
  int choices_of_warehouse(int k) const { return fewest_[static_cast<std::size_t>(k)]; }
  /// The least estimate of order k in a warehouse; infinite if it has none.
  double estimate_in(int k, int warehouse) const {
    return estimate_in_[static_cast<std::size_t>(k) * warehouses() + static_cast<std::size_t>(warehouse)];
  }
  /// The candidate of order k with the least estimate in a warehouse; -1 if it has none.
  int best_in(int k, int warehouse) const {
    return best_in_[static_cast<std::size_t>(k) * warehouses() + static_cast<std::size_t>(warehouse)];
  }
  std::size_t warehouses() const { return network_.tables().warehouses.size(); }
  int capacity(int warehouse) const {
    return network_.tables().warehouses[static_cast<std::size_t>(warehouse)].capacity;
  }
  double most(int lane) const { return most_[static_cast<std::size_t>(lane)]; }

  /// The sum of the cheapest estimates, by which the pheromone is scaled.
  double cheapest() const { return cheapest_; }

  /// A lower bound on the worth of a plan, from an assignment by shortest paths. There each order costs the least that it can at any load
  /// of a lane, and a warehouse takes at most its capacity. With flat rates it is the optimum.
  double bound() const { return bound_; }

  /// The same month with every route of an order as a candidate, those of this month first. It is for a colony that found no plan because
  /// lanes take a limited weight and candidates are few. The first thread that asks for it makes it. It has no lower bound.
  const Month& whole() const;

 private:
  struct Whole {
    std::once_flag once;
    std::unique_ptr<const Month> month;
  };
  enum class Candidates { best, all };
  Month(const Network& network, int number, Candidates candidates);

  static std::size_t at(const std::vector<int>& numbers, int k) {
    return static_cast<std::size_t>(numbers[static_cast<std::size_t>(k)]);
  }
  void choose_candidates(std::vector<Route> routes, std::size_t most);
  void find_bound(const std::vector<std::vector<Route>>& routes);

  const Network& network_;
  int number_;
  const std::vector<int>& orders_;
  std::vector<double> weights_, most_;
  std::vector<Route> routes_;
  std::vector<std::size_t> first_{0};
  std::vector<Way> ways_;
  std::vector<int> best_in_, fewest_;
  std::vector<double> estimate_in_;
  double cheapest_ = 0, bound_ = 0;
  std::unique_ptr<Whole> whole_ = std::make_unique<Whole>();
};

}  // namespace network
