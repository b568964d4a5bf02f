// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <span>

#include "ant_colony/network/problem/month.hpp"

namespace network {

/// An order that leaves one lane for another; -1: none.
struct Shift {
  int order, from, to;
};

/// The sum that the orders on each lane pay, kept up to date while orders come and go. A query takes O(1) in the usual case, in which the
/// new weight band of a lane is the old one or its neighbour. A shift takes O(bands).
template <template <class> class Array>
class LaneLoads {
 public:
  explicit LaneLoads(const Month& month) : month_(month), flat_(month.network().options().flat) {
    for (const Lane& lane : month.network().lanes()) {
      const std::size_t band = flat_ ? lane.band(lane.typical_load()) : 0;
      lanes_.push_back(
          {lane.air, 0, first_band(), first_band() + band, lane.bands.size(), lane.typical_load(), 0, 0});
      for (const Lane::Band& one : lane.bands)
        most_.push_back(one.most), minimum_.push_back(one.minimum), rate_.push_back(one.rate);
    }
    sums_.resize(most_.size());
  }

  double load_after(int lane, std::span<const Shift> shifts) const {
    double load = at(lane).load;
    for (const Shift& one : shifts) load += by(one, lane) * month_.weight(one.order);
    return load;
  }

  /// How much more all orders of a lane pay if order k is added (by = 1) or removed (by = -1).
  double change(int lane, int k, int by) const {
    if (lane < 0) return 0;
    const State& state = at(lane);
    const double weight = month_.weight(k), load = state.load + by * weight;
    if (state.orders + by == 0) return -state.total;
    const std::size_t band = band_at(state, load);
    return (state.air ? sums_[band] + by * alone(band, weight) : shared(state, band, load)) - state.total;
  }

  /// The same for several orders, over all lanes.
  double change(std::span<const Shift> shifts) const {
    double sum = 0;
    for (std::size_t s = 0; s < shifts.size(); ++s)
      for (const int lane : {shifts[s].from, shifts[s].to})
        if (lane >= 0 && is_first(shifts, s, lane)) sum += change_of_all(lane, shifts);
    return sum;
  }

  void shift(const Shift& one) {
    if (one.from == one.to) return;
    put(one.from, one.order, -1);
    put(one.to, one.order, 1);
  }

 private:
  struct State {
    bool air;
    int orders;
    std::size_t first, band, bands;  ///< `band`: the one that is paid
    double typical, load, total;
  };

  static int by(const Shift& one, int lane) {
    return static_cast<int>(one.to == lane) - static_cast<int>(one.from == lane);
  }
  static bool is_first(std::span<const Shift> shifts, std::size_t s, int lane) {
    if (shifts[s].from == shifts[s].to) return false;
    return std::ranges::none_of(shifts.first(s), [lane](const Shift& one) { return by(one, lane) != 0; });
  }

  double change_of_all(int lane, std::span<const Shift> shifts) const {
    const State& state = at(lane);
    const double load = load_after(lane, shifts);
    int orders = state.orders;
    for (const Shift& one : shifts) orders += by(one, lane);
    if (orders == 0) return -state.total;
    const std::size_t band = band_at(state, load);
    if (!state.air) return shared(state, band, load) - state.total;
    double total = sums_[band];
    for (const Shift& one : shifts) total += by(one, lane) * alone(band, month_.weight(one.order));
    return total - state.total;
  }

  void put(int lane, int k, int by) {
    if (lane < 0) return;
    State& state = lanes_[static_cast<std::size_t>(lane)];
    const double weight = month_.weight(k);
    state.orders += by;
    state.load = state.orders == 0 ? 0 : state.load + by * weight;
    state.band = band_at(state, state.load);
    if (state.air)
      for (std::size_t b = state.first; b < state.first + state.bands; ++b) sums_[b] += by * alone(b, weight);
    state.total = state.orders == 0 ? 0
                  : state.air       ? sums_[state.band]
                                    : shared(state, state.band, state.load);
  }

  /// What an order pays by air, and what all orders on the ground share.
  double alone(std::size_t band, double weight) const {
    return std::max(minimum_[band], rate_[band] * weight);
  }
  double shared(const State& state, std::size_t band, double load) const {
    return flat_ ? rate_[band] * load / state.typical : rate_[band];
  }

  /// Searches from the present band on, up or down.
  std::size_t band_at(const State& state, double load) const {
    std::size_t band = state.band;
    if (flat_) return band;
    while (band + 1 < state.first + state.bands && most_[band] < load) ++band;
    while (band > state.first && most_[band - 1] >= load) --band;
    return band;
  }

  std::size_t first_band() const { return most_.size(); }
  const State& at(int lane) const { return lanes_[static_cast<std::size_t>(lane)]; }

  const Month& month_;
  bool flat_;
  Array<State> lanes_;
  Array<double> most_, minimum_, rate_;  ///< for all bands of all lanes
  Array<double> sums_;                   ///< what the orders on the lane would pay in each band by air
};

}  // namespace network
