// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "ant_colony/network/colony/lane_loads.hpp"
#include "ant_colony/network/colony/leavers.hpp"
#include "ant_colony/network/colony/plan.hpp"

namespace network {

/// Improves a plan by moving single orders and exchanging two orders, until nothing gains. Gains include the changed cost of lanes. If an
/// order would go to a warehouse that is full, it is exchanged with the order there whose move costs least by the estimates. The result
/// depends only on the plan. O(orders x candidates) a pass, and O(bands + orders of a warehouse) for each gain.
template <template <class> class Array>
class Improvement {
 public:
  Improvement(const Month& month, Plan<Array>& plan)
      : month_(month),
        goal_(month.network().options().goal.cost),
        plan_(plan),
        loads_(month),
        leavers_(month, plan) {
    for (int k = 0; k < month_.size(); ++k) loads_.shift({k, -1, way(k).lane});
  }

  void improve() {
    bool gained = true;
    for (int pass = 0; gained && pass < most_passes; ++pass) {
      gained = false;
      for (int k = 0; k < month_.size(); ++k) gained |= move(k) || exchange(k);
    }
  }

 private:
  static constexpr double least_gain = 1e-6;  ///< so that rounding is no gain
  static constexpr int most_passes =
      1000;  ///< far more passes than a month takes, so that it ends whatever the rates are
  static std::size_t size(int n) { return static_cast<std::size_t>(n); }

  const Way& way(int k) const { return month_.ways(k)[size(plan_.choice(k))]; }

  /// Moves an order to the candidate that gains most.
  bool move(int k) {
    const Way now = way(k);
    const double gone = now.fixed - goal_ * loads_.change(now.lane, k, -1);
    double best = least_gain;
    int better = -1;
    const auto ways = month_.ways(k);
    for (std::size_t r = 0; r < ways.size(); ++r) {
      if (ways[r].lane == now.lane) continue;
      const double gain = gone - ways[r].fixed - goal_ * loads_.change(ways[r].lane, k, 1);
      if (gain > best && has_room(k, now, ways[r])) best = gain, better = static_cast<int>(r);
    }
    if (better >= 0) put(k, better);
    return better >= 0;
  }

  bool has_room(int k, const Way& now, const Way& then) const {
    return then.warehouse == now.warehouse ? plan_.carries(k, then) : plan_.fits(k, then);
  }

  /// Exchanges an order with the first order in another warehouse with which that gains.
  bool exchange(int k) {
    const int from = way(k).warehouse;
    const double now = month_.candidates(k)[size(plan_.choice(k))].estimate;
    for (int r = 0; r < month_.choices_of_warehouse(k); ++r) {
      const int to = month_.ways(k)[size(r)].warehouse;
      const auto other = leavers_.of(to, from);
      if (to == from || now - month_.estimate_in(k, to) - other.cost < least_gain) continue;
      if (swap(k, r, other.order, month_.best_in(other.order, from))) return true;
    }
    return false;
  }

  /// Gives order a its candidate r and order b its candidate s, if that gains and no lane then carries too much.
  bool swap(int a, int r, int b, int s) {
    const Way &from = way(a), &to = month_.ways(a)[size(r)], &back = way(b), &forth = month_.ways(b)[size(s)];
    const std::array shifts{Shift{a, from.lane, to.lane}, Shift{b, back.lane, forth.lane}};
    const double change = to.fixed - from.fixed + forth.fixed - back.fixed + goal_ * loads_.change(shifts);
    if (change > -least_gain || is_too_heavy(to.lane, shifts) || is_too_heavy(forth.lane, shifts))
      return false;
    put(a, r), put(b, s);
    return true;
  }

  bool is_too_heavy(int lane, std::span<const Shift> shifts) const {
    return lane >= 0 && loads_.load_after(lane, shifts) > month_.most(lane);
  }

  void put(int k, int r) {
    loads_.shift({k, way(k).lane, month_.ways(k)[size(r)].lane});
    leavers_.leave(k, way(k).warehouse);
    plan_.put(k, r);
    leavers_.enter(k, plan_);
  }

  const Month& month_;
  double goal_;  ///< what a dollar is worth
  Plan<Array>& plan_;
  LaneLoads<Array> loads_;
  Leavers<Array> leavers_;
};

}  // namespace network
