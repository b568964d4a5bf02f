// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

#include "ant_colony/tsplib.hpp"

namespace ant_colony {

/// The attractiveness of a distance by itself, with beta = 2. Cities at the same place count as 0.1 apart.
inline double visibility(int distance) {
  const double d = std::max(static_cast<double>(distance), 0.1);
  return 1.0 / (d * d);
}

/// Data that every colony reads and none writes: distances and, for each city, the nearest other cities, nearest first.
/// O(n^2) memory, O(n^2 log n) time.
class Problem {
 public:
  Problem(const tsplib::Instance& instance, int candidates)
      : n_(instance.cities()),
        k_(std::min(candidates, instance.cities() - 1)),
        distances_(instance.distances) {
    std::vector<int> others(size(n_));
    for (int i = 0; i < n_; ++i) {
      std::iota(others.begin(), others.end(), 0);
      const auto nearer = [&](int a, int b) {  // i itself comes last; ties by number, so that no sort decides
        return std::tuple(a == i, distance(i, a), a) < std::tuple(b == i, distance(i, b), b);
      };
      std::partial_sort(others.begin(), others.begin() + k_, others.end(), nearer);
      candidates_.insert(candidates_.end(), others.begin(), others.begin() + k_);
    }
  }

  int cities() const { return n_; }
  int candidates() const { return k_; }  ///< per city
  int distance(int i, int j) const { return distances_[size(i) * size(n_) + size(j)]; }
  std::span<const int> candidates(int i) const { return {&candidates_[size(i) * size(k_)], size(k_)}; }

  long length(std::span<const int> tour) const {
    long sum = distance(tour.back(), tour.front());
    for (std::size_t k = 1; k < tour.size(); ++k) sum += distance(tour[k - 1], tour[k]);
    return sum;
  }

  /// The length of the tour that always goes to the nearest city left, from city 0.
  long nearest_neighbour_length() const {
    std::vector<int> tour(size(n_));
    std::iota(tour.begin(), tour.end(), 0);
    for (auto at = tour.begin(); at + 1 != tour.end(); ++at)
      std::iter_swap(at + 1, std::min_element(at + 1, tour.end(), [&](int a, int b) {
                       return distance(*at, a) < distance(*at, b);
                     }));
    return length(tour);
  }

 private:
  static std::size_t size(int n) { return static_cast<std::size_t>(n); }

  int n_, k_;
  std::vector<int> distances_, candidates_;
};

}  // namespace ant_colony
