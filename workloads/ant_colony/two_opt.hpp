// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "ant_colony/problem.hpp"

namespace ant_colony {

/// 2-opt with neighbour lists and don't-look bits (Bentley 1992): replaces two edges by two shorter ones, until every city was tried
/// without a gain since one of its edges last changed. The result depends only on the tour. A limit of don't-look bits: a gain that a later
/// change elsewhere has made possible may be missed.
class TwoOpt {
 public:
  explicit TwoOpt(const Problem& problem)
      : problem_(problem), position_(size(problem.cities())), waiting_(size(problem.cities())) {}

  /// Improves `tour` in place; returns by how much its length fell.
  long improve(std::span<int> tour) {
    tour_ = tour;
    for (int k = 0; k < n(); ++k) position_[size(tour[size(k)])] = k;
    queue_.assign(tour.rbegin(), tour.rend());
    waiting_.assign(size(n()), true);
    long gain = 0;
    while (!queue_.empty()) {
      const int city = queue_.back();
      queue_.pop_back();
      waiting_[size(city)] = false;
      while (const int step = improve_at(city)) gain += step;
    }
    return gain;
  }

 private:
  static std::size_t size(int n) { return static_cast<std::size_t>(n); }
  int n() const { return problem_.cities(); }
  int after(int city) const { return at(position_[size(city)] + 1); }
  int before(int city) const { return at(position_[size(city)] - 1); }
  int at(int k) const { return tour_[size(k < 0 ? k + n() : k < n() ? k : k - n())]; }

  /// Makes the first exchange that joins `a` to a candidate nearer than its neighbour in the tour, and gains. Returns the gain.
  int improve_at(int a) {
    const int next = after(a), last = before(a);
    const int to_next = problem_.distance(a, next), to_last = problem_.distance(a, last);
    for (const int c : problem_.candidates(a)) {
      const int to_c = problem_.distance(a, c);
      if (to_c >= to_next && to_c >= to_last) return 0;
      if (const int gain = to_next - to_c + change(c, after(c), next); to_c < to_next && gain > 0)
        return exchange(a, next, c, after(c)), gain;
      if (const int gain = to_last - to_c + change(c, before(c), last); to_c < to_last && gain > 0)
        return exchange(last, a, before(c), c), gain;
    }
    return 0;
  }

  int change(int c, int beside_c, int beside_a) const {
    return problem_.distance(c, beside_c) - problem_.distance(beside_a, beside_c);
  }

  /// Edges (a,b) and (c,d), both in the tour's direction, become (a,c) and (b,d).
  void exchange(int a, int b, int c, int d) {
    reverse(position_[size(b)], position_[size(c)]);
    for (const int city : {a, b, c, d}) {
      if (waiting_[size(city)]) continue;
      waiting_[size(city)] = true;
      queue_.push_back(city);
    }
  }

  /// Reverses the part from position i to position j; or the rest, if that is shorter, which gives the same cycle.
  void reverse(int i, int j) {
    int length = j - i + 1;
    if (length <= 0) length += n();
    if (2 * length > n()) {
      i = std::exchange(j, i - 1) + 1;
      length = n() - length;
    }
    for (int swaps = length / 2; swaps > 0; --swaps, ++i, --j) {
      if (i >= n()) i -= n();
      if (j < 0) j += n();
      std::swap(tour_[size(i)], tour_[size(j)]);
      position_[size(tour_[size(i)])] = i;
      position_[size(tour_[size(j)])] = j;
    }
  }

  const Problem& problem_;
  std::span<int> tour_;
  std::vector<int> position_, queue_;
  std::vector<char> waiting_;
};

}  // namespace ant_colony
