// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <limits>

#include "ant_colony/network/problem/month.hpp"

namespace network {

/// Which candidate each order takes, and the room that is left in warehouses and on lanes.
template <template <class> class Array>
class Plan {
 public:
  static constexpr int none = -1;

  explicit Plan(const Month& month)
      : month_(month),
        choice_(size(month.size())),
        room_(month.network().tables().warehouses.size()),
        load_(month.network().lanes().size()),
        entered_(room_.size()) {
    queue_.reserve(room_.size());
    clear();
  }

  void clear() {
    std::ranges::fill(choice_, none);
    std::ranges::fill(load_, 0.0);
    for (std::size_t w = 0; w < room_.size(); ++w) room_[w] = month_.capacity(static_cast<int>(w));
  }

  const Array<int>& choices() const { return choice_; }
  int choice(int k) const { return choice_[size(k)]; }
  const Route& route(int k) const { return month_.candidates(k)[size(choice(k))]; }

  bool fits(int k, const Way& way) const { return room_[size(way.warehouse)] > 0 && carries(k, way); }

  /// Whether the lane takes the order, if it is not on it already.
  bool carries(int k, const Way& way) const {
    return way.lane < 0 || load_[size(way.lane)] + month_.weight(k) <= month_.most(way.lane);
  }

  void put(int k, int r) {
    if (choice(k) != none) change(k, way(k), -1);
    choice_[size(k)] = r;
    change(k, way(k), 1);
  }

  /// Places order k, for which no candidate has room, by moving as few other orders as possible. Calls moved(k, r) for each order that
  /// takes another candidate. False if there is no such chain of moves, or if a lane would carry too much.
  template <class Moved>
  bool make_room(int k, const Moved& moved) {
    std::ranges::fill(entered_, Entry{});
    queue_.clear();
    int last = spread(k, k);
    for (std::size_t head = 0; last == none && head < queue_.size(); ++head)
      for (int other = 0; last == none && other < month_.size(); ++other)
        if (choice(other) != none && way(other).warehouse == queue_[head]) last = spread(other, k);
    while (last != none) {
      const auto [order, r] = entered_[size(last)];
      last = order == k ? none : way(order).warehouse;
      if (!carries(order, month_.ways(order)[size(r)])) return false;
      put(order, r);
      moved(order, r);
    }
    return choice(k) != none;
  }

 private:
  struct Entry {
    int order = none, r = none;
  };
  static std::size_t size(int n) { return static_cast<std::size_t>(n); }

  const Way& way(int k) const { return month_.ways(k)[size(choice(k))]; }

  void change(int k, const Way& way, int by) {
    room_[size(way.warehouse)] -= by;
    if (way.lane >= 0) load_[size(way.lane)] += by * month_.weight(k);
  }

  /// Reaches the warehouses to which order `from` could go. Returns the first that has room, or none.
  int spread(int from, int k) {
    const auto ways = month_.ways(from);
    for (std::size_t r = 0; r < ways.size(); ++r) {
      const int to = ways[r].warehouse;
      if (entered_[size(to)].order != none || (from != k && to == way(from).warehouse)) continue;
      if (!carries(from, ways[r])) continue;
      entered_[size(to)] = {from, static_cast<int>(r)};
      if (room_[size(to)] > 0) return to;
      queue_.push_back(to);
    }
    return none;
  }

  const Month& month_;
  Array<int> choice_, room_;
  Array<double> load_;
  Array<Entry> entered_;
  Array<int> queue_;
};

/// The worth of a plan: the sum over orders of each order's route, with the freight at the whole loads of the lanes. It is added up in the
/// sequence of the orders.
template <template <class> class Array, class Choices>
double worth_of(const Month& month, const Choices& choices) {
  Array<double> load(month.network().lanes().size());
  const auto route = [&](int k) -> const Route& {
    return month.candidates(k)[static_cast<std::size_t>(choices[static_cast<std::size_t>(k)])];
  };
  for (int k = 0; k < month.size(); ++k)
    if (route(k).lane >= 0) load[static_cast<std::size_t>(route(k).lane)] += month.weight(k);
  double sum = 0;
  for (int k = 0; k < month.size(); ++k) {
    const Route& one = route(k);
    const double on_lane = one.lane < 0 ? 0 : load[static_cast<std::size_t>(one.lane)];
    sum += month.network().worth(one, month.network().freight(one.lane, month.weight(k), on_lane));
  }
  return sum;
}

}  // namespace network
