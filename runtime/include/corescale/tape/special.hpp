// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <limits>

/// Functions that derivatives need and <cmath> lacks.
namespace corescale::inline v0::special {

/// -1, 0 or 1, and NaN for NaN.
inline double sign(double x) { return x > 0 ? 1.0 : x < 0 ? -1.0 : x; }

/// The order of a polygamma function, which travels as a number of the base type.
inline unsigned whole(double x) { return static_cast<unsigned>(x); }

/// Whether x is a whole number that whole() gives back.
inline bool is_whole(double x) { return x >= 0 && x <= 1e9 && x == std::floor(x); }

/// log |gamma(x)|. Unlike std::lgamma it writes no variable that threads share.
inline double log_gamma(double x) {
  int ignored_sign = 0;
  return ::lgamma_r(x, &ignored_sign);
}

/// sin(x) and cos(x), which glibc computes together at less than the cost of two calls.
struct sine_and_cosine {
  double sine;
  double cosine;

  explicit sine_and_cosine(double x) {
#ifdef __GLIBC__
    ::sincos(x, &sine, &cosine);
#else
    sine = std::sin(x), cosine = std::cos(x);
#endif
  }
};

/// The derivative of order n + 1 of log(gamma(x)): digamma for n = 0, trigamma for n = 1, and so on. NaN at
/// the poles 0, -1, -2, ...; relative error about 1e-14 away from the zeros of digamma.
double polygamma(unsigned n, double x);

}  // namespace corescale::special
