// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "driver/random.hpp"

namespace claim_simulator {

/// A loop whose iterations take times drawn from a log-normal distribution of this mean and coefficient of variation; all equal if the
/// variation is 0. Takes O(n) memory if they vary.
class SimulatedLoop {
 public:
  SimulatedLoop(std::uint64_t n, double mean_ns, double variation, std::uint64_t seed)
      : n_(n), mean_(mean_ns) {
    if (variation <= 0) return;
    before_.resize(n + 1);
    driver::Random draw(seed, 0, 0);
    for (std::uint64_t i = 0; i < n; ++i) before_[i + 1] = before_[i] + lognormal(draw, variation);
    const double scale = mean_ns * static_cast<double>(n) / before_[n];
    for (double& one : before_) one *= scale;
  }

  std::uint64_t size() const { return n_; }

  /// Nanoseconds of iterations begin .. end - 1 on a core of speed 1.
  double ns(std::uint64_t begin, std::uint64_t end) const {
    return before_.empty() ? mean_ * static_cast<double>(end - begin) : before_[end] - before_[begin];
  }

 private:
  /// A random number from a lognormal distribution with median 1.
  static double lognormal(driver::Random& draw, double variation) {
    constexpr double turn = 6.283185307179586;
    const double normal = std::sqrt(-2 * std::log(1 - draw.unit())) * std::cos(turn * draw.unit());
    return std::exp(std::sqrt(std::log1p(variation * variation)) * normal);
  }

  std::uint64_t n_;
  double mean_;
  std::vector<double> before_;
};

}  // namespace claim_simulator
