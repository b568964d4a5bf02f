// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>

namespace multi_newton {

struct Point {
  double value;
  double derivative;
};

/// An approximate zero x with |f(x)| = residual.
struct Zero {
  double x;
  double residual;
};

/// Newton's method that does not leave [a, b] (Bell and Hepperger 2012, section III.A). Returns a zero with |f| < epsilon; or none, if
/// `steps` steps found none, or if it is at a bound and the next step would leave the interval. `f(x)` is a Point. A derivative of 0 sends
/// it to a bound, where it ends. A value that is not a number is never a zero.
template <class Function>
std::optional<Zero> bounded_newton(Function&& f, double a, double b, int steps, double epsilon) {
  double x = (a + b) / 2;
  for (int k = 0;; ++k) {
    const Point at = f(x);
    if (std::abs(at.value) < epsilon) return Zero{x, std::abs(at.value)};
    if (k == steps) return std::nullopt;
    const double slope = at.value * at.derivative;
    if ((slope >= 0 && x == a) || (slope <= 0 && x == b)) return std::nullopt;
    x = std::min(b, std::max(a, x - at.value / at.derivative));
  }
}

}  // namespace multi_newton
