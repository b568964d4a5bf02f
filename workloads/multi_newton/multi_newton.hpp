// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <corescale/machine/cache_line.hpp>
#include <corescale/memory/capacity_vector.hpp>
#include <cstddef>
#include <limits>
#include <vector>

#include "multi_newton/bounded_newton.hpp"

namespace multi_newton {

/// The problem: find all zeros of a function in [lower, upper]. Any two zeros are at least the length of an interval apart.
struct Problem {
  double lower;
  double upper;
  std::size_t intervals;
  int steps;       ///< steps of Newton's method in each interval
  double epsilon;  ///< an x with |f(x)| below this is a zero

  double length() const { return (upper - lower) / static_cast<double>(intervals); }
};

/// Adds a zero to those found, which ascend. If two are nearer to each other than the length of an interval, they are one zero, found from
/// both sides of a bound. The one with the smaller residual stays.
template <class Zeros>
void add(Zeros& found, const Zero& zero, double length) {
  if (found.empty() || zero.x - found.back().x >= length)
    found.push_back(zero);
  else if (zero.residual < found.back().residual)
    found.back() = zero;
}

/// One thread's share: intervals first .. first + count - 1, and the zeros that it finds. Threads share no cache line.
template <class Alloc>
struct alignas(corescale::cache_line) Share {
  double start = 0;
  double end = 0;
  std::size_t count = 0;
  std::size_t evaluations = 0;
  corescale::capacity_vector<Zero, Alloc> zeros;
};

/// The multi-threaded method (section III.B). The master calls divide() and combine(), and each thread calls search() on its share.
/// The memory of the zeros comes from Alloc on the thread that finds them, and goes back there in combine().
template <class Alloc>
class MultiNewton {
 public:
  MultiNewton(const Problem& problem, std::size_t threads) : problem_(problem), shares_(threads) {}

  /// The first J mod M threads have one interval more than the others. Threads beyond J have none.
  void divide() {
    const std::size_t threads = shares_.size(), each = problem_.intervals / threads;
    std::size_t before = 0;
    for (std::size_t m = 0; m < threads; ++m) {
      Share<Alloc>& share = shares_[m];
      share.count = each + (m < problem_.intervals % threads ? 1 : 0);
      share.start = bound(before);
      share.end = bound(before += share.count);
      share.evaluations = 0;
    }
  }

  template <class Function>
  void search(std::size_t m, Function&& f) {
    Share<Alloc>& share = shares_[m];
    const double length = problem_.length();
    const auto counted = [&](double x) {
      ++share.evaluations;
      return f(x);
    };
    for (std::size_t l = 0; l < share.count; ++l) {
      const double a = share.start + length * static_cast<double>(l);
      const double b = share.end - length * static_cast<double>(share.count - 1 - l);
      if (const auto zero = bounded_newton(counted, a, b, problem_.steps, problem_.epsilon))
        add(share.zeros, *zero, length);
    }
  }

  /// The zeros of all shares, each compared with the last of all before it.
  void combine(std::vector<Zero>& zeros) {
    zeros.clear();
    for (Share<Alloc>& share : shares_) {
      for (const Zero& zero : share.zeros) add(zeros, zero, problem_.length());
      share.zeros = {};
    }
  }

  /// The number of evaluations of f since divide().
  std::size_t evaluations() const {
    std::size_t all = 0;
    for (const Share<Alloc>& share : shares_) all += share.evaluations;
    return all;
  }

 private:
  /// Where interval number `index` begins; the last ends exactly at the upper bound.
  double bound(std::size_t index) const {
    return index == problem_.intervals ? problem_.upper
                                       : problem_.lower + problem_.length() * static_cast<double>(index);
  }

  Problem problem_;
  std::vector<Share<Alloc>> shares_;
};

}  // namespace multi_newton
