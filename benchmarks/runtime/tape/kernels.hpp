// SPDX-License-Identifier: Apache-2.0
// The functions that are differentiated. Every number type runs the same code, with the arguments of `at`.
#pragma once

#include <array>
#include <cmath>
#include <vector>

namespace bench {

/// The sum of 1,000 sines of one number: the study's function. Two operations each.
struct sum_of_sines {
  static constexpr const char* name = "sum of sines";
  static constexpr int terms = 1000;
  static constexpr double operations = 2.0 * terms;
  static std::vector<double> at() { return {1.25}; }

  template <class T>
  static T value(const T* x) {
    using std::sin;
    T sum = 0.0;
    for (int n = 0; n < terms; ++n) sum += sin(x[0]);
    return sum;
  }
};

/// The product of 100,000 numbers: as many independent variables as operations.
struct product {
  static constexpr const char* name = "product";
  static constexpr int factors = 100'000;
  static constexpr double operations = factors;
  static std::vector<double> at() {
    std::vector<double> x(factors);
    for (int i = 0; i < factors; ++i) x[static_cast<std::size_t>(i)] = i % 2 ? 1.001 : 0.999;
    return x;
  }

  template <class T>
  static T value(const T* x) {
    T all = 1.0;
    for (int i = 0; i < factors; ++i) all *= x[i];
    return all;
  }
};

/// A body in the field of another, in the plane: 1,000 steps of Runge and Kutta's method of order 4, then a
/// number of the final state. 88 operations a step.
struct two_body {
  static constexpr const char* name = "two-body RK4";
  static constexpr int steps = 1000;
  static constexpr double operations = 88.0 * steps + 7;
  static inline int taken = steps;  ///< more where memory is measured, so that operations outweigh all else
  static std::vector<double> at() { return {1.0, 0.1, -0.1, 0.9}; }

  template <class T>
  using state = std::array<T, 4>;

  template <class T>
  static state<T> slope(const state<T>& s) {
    using std::sqrt;
    const T square = s[0] * s[0] + s[1] * s[1];
    const T cube = square * sqrt(square);
    return {s[2], s[3], -s[0] / cube, -s[1] / cube};
  }

  template <class T>
  static state<T> moved(const state<T>& s, double h, const state<T>& k) {
    return {s[0] + h * k[0], s[1] + h * k[1], s[2] + h * k[2], s[3] + h * k[3]};
  }

  template <class T>
  static T value(const T* x) {
    constexpr double h = 0.005;
    state<T> s{x[0], x[1], x[2], x[3]};
    for (int step = 0; step < taken; ++step) {
      const state<T> k1 = slope(s), k2 = slope(moved(s, h / 2, k1)), k3 = slope(moved(s, h / 2, k2));
      const state<T> k4 = slope(moved(s, h, k3));
      for (std::size_t i = 0; i < 4; ++i) s[i] += h / 6 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i]);
    }
    return s[0] * s[0] + s[1] * s[1] + s[2] * s[2] + s[3] * s[3];
  }
};

/// The direction of Hessian-vector products: the same for every number type.
inline std::vector<double> direction(std::size_t n) {
  std::vector<double> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = 1.0 / static_cast<double>(i + 1);
  return v;
}

}  // namespace bench
