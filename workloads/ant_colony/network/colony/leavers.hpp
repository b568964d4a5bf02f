// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <utility>

#include "ant_colony/network/colony/plan.hpp"

namespace network {

/// For each pair of warehouses, the order whose move from one to the other costs least by the estimates. It is kept up to date while
/// orders move.
template <template <class> class Array>
class Leavers {
 public:
  struct Leaver {
    double cost = std::numeric_limits<double>::infinity();
    int order = -1;
    friend bool operator<(const Leaver& a, const Leaver& b) {
      return a.cost < b.cost || (a.cost == b.cost && a.order < b.order);
    }
  };

  Leavers(const Month& month, const Plan<Array>& plan)
      : month_(month),
        best_(month.warehouses() * month.warehouses()),
        members_(month.warehouses()),
        estimate_(size(month.size())),
        place_(size(month.size())) {
    for (int k = 0; k < month.size(); ++k) enter(k, plan);
  }

  const Leaver& of(int from, int to) const { return best_[index(from, to)]; }

  /// Call leave(k) when order k is about to leave a warehouse, and enter(k) once it has entered one.
  void leave(int k, int from) {
    auto& members = members_[size(from)];
    place_[size(members.back())] = place_[size(k)];
    members[place_[size(k)]] = members.back();
    members.pop_back();
    for (int r = 0; r < month_.choices_of_warehouse(k); ++r)
      if (const int to = month_.ways(k)[size(r)].warehouse; of(from, to).order == k) find(from, to);
  }
  void enter(int k, const Plan<Array>& plan) {
    const int in = plan.route(k).warehouse;
    estimate_[size(k)] = plan.route(k).estimate;
    place_[size(k)] = members_[size(in)].size();
    members_[size(in)].push_back(k);
    for (int r = 0; r < month_.choices_of_warehouse(k); ++r) {
      const int to = month_.ways(k)[size(r)].warehouse;
      const Leaver mine{month_.estimate_in(k, to) - estimate_[size(k)], k};
      if (mine < of(in, to)) best_[index(in, to)] = mine;
    }
  }

 private:
  static std::size_t size(int n) { return static_cast<std::size_t>(n); }
  /// Leavers to one warehouse are adjacent in memory, because they are read one after another.
  std::size_t index(int from, int to) const { return size(to) * month_.warehouses() + size(from); }

  void find(int from, int to) {
    Leaver best;
    for (const int k : members_[size(from)])
      if (const Leaver one{month_.estimate_in(k, to) - estimate_[size(k)], k}; one < best) best = one;
    best_[index(from, to)] = best;
  }

  const Month& month_;
  Array<Leaver> best_;
  Array<Array<int>> members_;
  Array<double> estimate_;    ///< for each order, at its present warehouse
  Array<std::size_t> place_;  ///< for each order, its place among the members of its warehouse
};

}  // namespace network
