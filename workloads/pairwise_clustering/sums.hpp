// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "driver/ranks.hpp"

namespace pairwise_clustering {

/// Sums over all rows that no order of threads and ranks changes, not in one bit. Each term is first rounded to a multiple of one power
/// of two, so coarse that sums of such multiples are exact in double (Demmel and Nguyen 2013, pre-rounding).
/// add() may be called from any thread.
class Sums {
 public:
  /// `bound`: an upper bound on the sum of the terms' absolute values. The rounding is below bound x rows x 2^-50.
  Sums(std::size_t width, double bound)
      : total_(width, 0.0), shift_(std::ldexp(3.0, std::ilogb(bound) + 2)) {}

  /// The rounded term, which may be added anywhere, in any order.
  double rounded(double term) const { return (term + shift_) - shift_; }

  /// A sum of rounded terms.
  void add(std::size_t k, double part) {
    std::atomic_ref(total_[k]).fetch_add(part, std::memory_order_relaxed);
  }

  std::span<double> total() { return total_; }
  double operator[](std::size_t k) const { return total_[k]; }

 private:
  std::vector<double> total_;
  double shift_;
};

}  // namespace pairwise_clustering
