// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

namespace network {

/// Assigns as many orders as possible to warehouses, at the least sum of costs, by successive shortest paths (Ahuja, Magnanti and Orlin
/// 1993, section 9.7). An order that finds no path when it is added would never find one later, so no more orders are left over than by a
/// maximum flow. O(W^3 + orders) for an order added, W warehouses.
class Assignment {
 public:
  static constexpr double never = std::numeric_limits<double>::infinity();

  explicit Assignment(std::vector<int> capacities)
      : room_(std::move(capacities)), members_(room_.size()), moves_(room_.size()) {
    for (auto& row : moves_) row.resize(room_.size());
  }

  /// Adds an order, given its cost in each warehouse. Other orders may move to make room for it.
  void add(const std::vector<double>& costs) {
    costs_.push_back(costs);
    for (const double cost : costs)
      if (cost < never) tolerance_ = std::max(tolerance_, rounding * cost);
    const Path path = shortest(costs);
    if (path.end == none) {
      ++left_over_;
      return;
    }
    cost_ += path.length[path.end];
    --room_[path.end];
    std::size_t to = path.end;
    for (; path.before[to] != none; to = path.before[to]) move(path.before[to], to);
    members_[to].push_back(costs_.size() - 1);
    for (to = path.end; to != none; to = path.before[to]) survey(to);
  }

  double cost() const { return cost_; }
  int left_over() const { return left_over_; }

 private:
  static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
  struct Move {
    double cost = never;
    std::size_t member = none;
  };
  struct Path {
    std::vector<double> length;
    std::vector<std::size_t> before;
    std::size_t end = none;
  };

  /// Bellman and Ford's algorithm, to the cheapest warehouse that has room.
  Path shortest(const std::vector<double>& costs) const {
    const std::size_t n = room_.size();
    Path path{costs, std::vector<std::size_t>(n, none)};
    for (bool shorter = true; shorter;) {
      shorter = false;
      for (std::size_t from = 0; from < n; ++from)
        for (std::size_t to = 0; to < n; ++to)
          if (path.length[from] + moves_[from][to].cost < path.length[to] - tolerance_) {
            path.length[to] = path.length[from] + moves_[from][to].cost;
            path.before[to] = from;
            shorter = true;
          }
    }
    for (std::size_t w = 0; w < n; ++w)
      if (room_[w] > 0 && path.length[w] < (path.end == none ? never : path.length[path.end])) path.end = w;
    return path;
  }

  void move(std::size_t from, std::size_t to) {
    const std::size_t member = moves_[from][to].member;
    std::size_t& place = members_[from][index_of(from, member)];
    place = members_[from].back();
    members_[from].pop_back();
    members_[to].push_back(member);
  }

  std::size_t index_of(std::size_t warehouse, std::size_t member) const {
    std::size_t k = 0;
    while (members_[warehouse][k] != member) ++k;
    return k;
  }

  /// The cheapest move of one of its orders to each other warehouse.
  void survey(std::size_t from) {
    for (std::size_t to = 0; to < room_.size(); ++to) {
      Move best;
      for (const std::size_t member : members_[from]) {
        const double cost = costs_[member][to] - costs_[member][from];
        if (to != from && cost < best.cost) best = {cost, member};
      }
      moves_[from][to] = best;
    }
  }

  /// A tolerance, so that a cycle of moves cannot seem to gain by rounding. It is relative to the largest cost, and far above the
  /// rounding error of a sum of moves.
  static constexpr double rounding = 1e-12;

  std::vector<int> room_;
  std::vector<std::vector<std::size_t>> members_;
  std::vector<std::vector<Move>> moves_;
  std::vector<std::vector<double>> costs_;
  double cost_ = 0, tolerance_ = 0;
  int left_over_ = 0;
};

}  // namespace network
