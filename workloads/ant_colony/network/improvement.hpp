// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>

#include "ant_colony/network/plan.hpp"

namespace network {

/// What moving single orders and exchanging two still gains, with what the lanes then cost, until nothing does. An order that wants
/// to go where there is no room changes places with the order there that is cheapest to move by the estimates. The result depends
/// on the plan alone. O(orders x candidates x log bands) a pass.
template <template <class> class Array>
class Improvement {
 public:
  explicit Improvement(const Month& month)
      : month_(month),
        network_(month.network()),
        load_(network_.lanes().size()),
        leavers_(month.warehouses() * month.warehouses()) {
    for (const Lane& lane : network_.lanes()) {
      first_band_.push_back(sums_.size());
      sums_.resize(sums_.size() + lane.bands.size());
    }
  }

  void improve(Plan<Array>& plan) {
    std::ranges::fill(load_, 0.0);
    std::ranges::fill(sums_, 0.0);
    for (int k = 0; k < month_.size(); ++k) change(k, plan.route(k).lane, 1);
    for (int w = 0; w < static_cast<int>(month_.warehouses()); ++w) find_leavers(plan, w);
    bool gained = true;
    for (int pass = 0; gained && pass < most_passes; ++pass) {
      gained = false;
      for (int k = 0; k < month_.size(); ++k) gained |= move(plan, k) || exchange(plan, k);
    }
  }

 private:
  static constexpr double least_gain = 1e-6;  ///< so that rounding is no gain
  static constexpr int most_passes =
      1000;  ///< far beyond what a month takes: it ends, whatever the rates are
  static std::size_t size(int n) { return static_cast<std::size_t>(n); }

  struct Leaver {
    double cost = std::numeric_limits<double>::infinity();
    int order = -1;
  };

  Leaver& leaver(int from, int to) { return leavers_[size(from) * month_.warehouses() + size(to)]; }
  double estimate(int k, int r) const { return month_.candidates(k)[size(r)].estimate; }

  /// For each other warehouse the order that is the cheapest to move there.
  void find_leavers(const Plan<Array>& plan, int from) {
    for (int to = 0; to < static_cast<int>(month_.warehouses()); ++to) leaver(from, to) = {};
    for (int k = 0; k < month_.size(); ++k) {
      if (plan.route(k).warehouse != from) continue;
      const auto candidates = month_.candidates(k);
      for (std::size_t r = 0; r < candidates.size(); ++r) {
        const double cost = candidates[r].estimate - plan.route(k).estimate;
        Leaver& best = leaver(from, candidates[r].warehouse);
        if (cost < best.cost) best = {cost, k};
      }
    }
  }

  bool exchange(Plan<Array>& plan, int k) {
    const Route now = plan.route(k);
    const auto candidates = month_.candidates(k);
    for (int r = 0; r < static_cast<int>(candidates.size()); ++r) {
      const int to = candidates[size(r)].warehouse;
      if (to == now.warehouse || month_.best_in(k, to) != r) continue;
      const Leaver other = leaver(to, now.warehouse);
      if (other.order < 0 || now.estimate - estimate(k, r) - other.cost < least_gain) continue;
      if (swap(plan, k, r, other.order, month_.best_in(other.order, now.warehouse))) return true;
    }
    return false;
  }

  /// Order a takes its candidate r, b its s; both back where it gains nothing or a lane would carry too much.
  bool swap(Plan<Array>& plan, int a, int r, int b, int s) {
    const int old_r = plan.choice(a), old_s = plan.choice(b);
    const int from = plan.route(a).warehouse, to = plan.route(b).warehouse;
    const double change = put(plan, a, r) + put(plan, b, s);
    if (change > -least_gain || is_too_heavy(plan, a) || is_too_heavy(plan, b)) {
      put(plan, a, old_r), put(plan, b, old_s);
      return false;
    }
    find_leavers(plan, from), find_leavers(plan, to);
    return true;
  }

  /// Whether the lane of order k carries more than it may.
  bool is_too_heavy(const Plan<Array>& plan, int k) const {
    const int lane = plan.route(k).lane;
    return lane >= 0 && load_[size(lane)] > month_.most(lane);
  }

  /// By how much the worth of all changes.
  double put(Plan<Array>& plan, int k, int r) {
    const Route& now = plan.route(k);
    const double gone = change_of(k, now.lane, -1) - without_freight(now);
    change(k, now.lane, -1);
    plan.put(k, r);
    const double come = without_freight(plan.route(k)) + change_of(k, plan.route(k).lane, 1);
    change(k, plan.route(k).lane, 1);
    return gone + come;
  }

  bool move(Plan<Array>& plan, int k) {
    const Route& now = plan.route(k);
    const double gained = without_freight(now) - change_of(k, now.lane, -1);
    double best = least_gain;
    int better = -1;
    const auto candidates = month_.candidates(k);
    for (int r = 0; r < static_cast<int>(candidates.size()); ++r) {
      const Route& other = candidates[size(r)];
      if (other.lane == now.lane || !plan.carries(k, other)) continue;
      if (other.warehouse != now.warehouse && !plan.fits(k, other)) continue;
      const double gain = gained - without_freight(other) - change_of(k, other.lane, 1);
      if (gain > best) best = gain, better = r;
    }
    if (better < 0) return false;
    const int from = now.warehouse;
    put(plan, k, better);
    find_leavers(plan, from);
    if (plan.route(k).warehouse != from) find_leavers(plan, plan.route(k).warehouse);
    return true;
  }

  double without_freight(const Route& route) const { return network_.worth(route, 0); }

  /// By how much the worth of all orders on a lane changes when order k comes (1) or goes (-1).
  double change_of(int k, int lane, int by) const {
    if (lane < 0) return 0;
    const double load = load_[size(lane)];
    const double then = by < 0 && load - month_.weight(k) < 1e-9 ? 0 : load + by * month_.weight(k);
    const Lane& on = network_.lanes()[size(lane)];
    const std::size_t band = on.band(network_.load_for_rate(lane, then));
    const double rest = then == 0 ? 0 : total(lane, then, band, by * for_band(on, band, month_.weight(k)));
    return network_.options().goal.cost *
           (rest - total(lane, load, on.band(network_.load_for_rate(lane, load)), 0));
  }

  /// What all orders on a lane pay at this load and in this band; `more` by air for an order that is not in the sums.
  double total(int lane, double load, std::size_t band, double more) const {
    if (load == 0) return 0;
    const Lane& on = network_.lanes()[size(lane)];
    if (on.air) return sums_[first_band_[size(lane)] + band] + more;
    return network_.options().flat ? on.bands[band].rate * load / on.typical_load() : on.bands[band].rate;
  }

  static double for_band(const Lane& lane, std::size_t band, double weight) {
    return std::max(lane.bands[band].minimum, lane.bands[band].rate * weight);
  }

  void change(int k, int lane, int by) {
    if (lane < 0) return;
    load_[size(lane)] += by * month_.weight(k);
    const Lane& on = network_.lanes()[size(lane)];
    for (std::size_t b = 0; on.air && b < on.bands.size(); ++b)
      sums_[first_band_[size(lane)] + b] += by * for_band(on, b, month_.weight(k));
  }

  const Month& month_;
  const Network& network_;
  Array<double> load_;
  Array<Leaver> leavers_;  ///< from each warehouse to each
  Array<std::size_t> first_band_;
  Array<double> sums_;  ///< for each band of each lane by air: what its orders would pay in it
};

}  // namespace network
