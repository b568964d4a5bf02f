// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <numbers>
#include <vector>

#include "multi_newton/bounded_newton.hpp"
#include "multi_newton/multi_newton.hpp"

// A function has: operator() over any number type, by_hand(x), and the problem whose zeros it is known to have.
namespace multi_newton {

inline constexpr double machine_epsilon = std::numeric_limits<double>::epsilon();

/// f(x) = (sin(x) + ... + sin(x)) / N, with N equal terms (section IV): the zeros are the multiples of pi.
/// An opaque function hides from the compiler that all terms are equal. Otherwise g++ computes one sine and adds it N times.
template <bool Opaque>
struct Sine {
  std::size_t terms = 100;
  std::size_t zeros = 500;

  template <class Real>
  Real operator()(const Real& x) const {
    using std::sin;
    Real sum = 0;
    for (std::size_t n = 0; n < terms; ++n) sum += sin(x);
    return sum / static_cast<double>(terms);
  }

  Point by_hand(double x) const {
    double sum = 0, slope = 0;
    for (std::size_t n = 0; n < terms; ++n) {
      if constexpr (Opaque) asm volatile("" : "+x"(x));
      sum += std::sin(x);
      slope += std::cos(x);
    }
    return {sum / static_cast<double>(terms), slope / static_cast<double>(terms)};
  }

  /// The interval [0, (Z - 1) pi], with zeros at both ends. epsilon is 100 times the upper bound times the epsilon of double.
  Problem problem(std::size_t intervals, int steps) const {
    const double upper = static_cast<double>(zeros - 1) * std::numbers::pi;
    return {0, upper, intervals, steps, 100 * upper * machine_epsilon};
  }

  std::vector<double> known() const {
    std::vector<double> all;
    all.reserve(zeros);
    for (std::size_t z = 0; z < zeros; ++z) all.push_back(static_cast<double>(z) * std::numbers::pi);
    return all;
  }
};

/// Chebyshev's polynomial of the first kind by its recurrence: the zeros are cos((2k - 1) pi / 2n), within [-1, 1].
struct Chebyshev {
  static constexpr int degree = 20;

  template <class Real>
  Real operator()(const Real& x) const {
    Real before = 1, now = x;
    for (int k = 1; k < degree; ++k) {
      const Real next = 2.0 * x * now - before;
      before = now;
      now = next;
    }
    return now;
  }

  Point by_hand(double x) const {
    double before = 1, now = x, slope_before = 0, slope = 1;
    for (int k = 1; k < degree; ++k) {
      const double next = 2 * x * now - before, slope_next = 2 * now + 2 * x * slope - slope_before;
      before = now, now = next, slope_before = slope, slope = slope_next;
    }
    return {now, slope};
  }

  Problem problem(std::size_t intervals, int steps) const {
    return {-1, 1, intervals, steps, 1e4 * machine_epsilon};
  }

  std::vector<double> known() const {
    std::vector<double> all;
    for (int k = degree; k >= 1; --k) all.push_back(std::cos((2 * k - 1) * std::numbers::pi / (2 * degree)));
    return all;
  }
};

/// Bessel's J0 as the mean of cos(x sin t) over t, which converges faster than any power of the number of points (Trefethen and
/// Weideman 2014). The zeros are in a table, which a test compares with Boost.Math's.
struct BesselJ0 {
  static constexpr int points = 64;
  static constexpr double upper = 32;

  template <class Real>
  Real operator()(const Real& x) const {
    using std::cos;
    Real sum = 0;
    for (int k = 0; k < points; ++k) sum += cos(x * node(k));
    return sum / static_cast<double>(points);
  }

  Point by_hand(double x) const {
    double sum = 0, slope = 0;
    for (int k = 0; k < points; ++k) {
      sum += std::cos(x * node(k));
      slope -= node(k) * std::sin(x * node(k));
    }
    return {sum / points, slope / points};
  }

  Problem problem(std::size_t intervals, int steps) const {
    return {-upper, upper, intervals, steps, 100 * upper * machine_epsilon};
  }

  std::vector<double> known() const {
    static constexpr double positive[] = {
        2.404825557695773,  5.520078110286311,  8.653727912911012,  11.791534439014281, 14.930917708487785,
        18.071063967910922, 21.211636629879258, 24.352471530749302, 27.493479132040254, 30.634606468431975};
    std::vector<double> all;
    for (int k = 9; k >= 0; --k) all.push_back(-positive[k]);
    all.insert(all.end(), std::begin(positive), std::end(positive));
    return all;
  }

 private:
  static double node(int k) { return nodes()[static_cast<std::size_t>(k)]; }
  static const std::vector<double>& nodes() {
    static const std::vector<double> all = [] {
      std::vector<double> made;
      made.reserve(points);
      for (int k = 0; k < points; ++k) made.push_back(std::sin(std::numbers::pi * (k + 0.5) / points));
      return made;
    }();
    return all;
  }
};

}  // namespace multi_newton
