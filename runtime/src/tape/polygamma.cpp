// SPDX-License-Identifier: Apache-2.0
// The asymptotic series of Abramowitz and Stegun 6.3.18 and 6.4.11, from where it is exact to double
// precision.
#include <array>
#include <numbers>

#include "corescale/tape/special.hpp"

namespace corescale::inline v0::special {
namespace {

constexpr std::array bernoulli{1.0 / 6,        -1.0 / 30,
                               1.0 / 42,       -1.0 / 30,
                               5.0 / 66,       -691.0 / 2730,
                               7.0 / 6,        -3617.0 / 510,
                               43867.0 / 798,  -174611.0 / 330,
                               854513.0 / 138, -236364091.0 / 2730};  // B(2), B(4), ... B(24)

/// Sum over k >= 0 of (x + k)^-s for x > 0, s >= 2: terms up to a large x, then Euler and Maclaurin's
/// formula.
double zeta(double s, double x) {
  double sum = 0;
  const double large = 10 + s;
  while (x < large) sum += std::pow(x++, -s);
  double term = std::pow(x, -s);
  sum += x * term / (s - 1) + term / 2;
  term *= s / x;  // s (s+1) ... (s+2j-2) x^(-s-2j+1) / (2j)!
  double factorial_ratio = 0.5;
  for (std::size_t j = 1; j <= bernoulli.size(); ++j) {
    const double k = 2.0 * static_cast<double>(j);
    sum += bernoulli[j - 1] * term * factorial_ratio;
    term *= (s + k - 1) * (s + k) / (x * x);
    factorial_ratio /= (k + 1) * (k + 2);
  }
  return sum;
}

double digamma_of_positive(double x) {
  double sum = 0;
  while (x < 12) sum -= 1 / x++;
  const double square = 1 / (x * x);
  double power = square;
  sum += std::log(x) - 0.5 / x;
  for (std::size_t j = 1; j <= bernoulli.size(); ++j, power *= square)
    sum -= bernoulli[j - 1] / (2.0 * static_cast<double>(j)) * power;
  return sum;
}

/// Exact, unlike a difference to the floor just below a pole.
double from_nearest_pole(double x) { return x - std::round(x); }

double digamma(double x) {
  if (x > 0) return digamma_of_positive(x);
  return digamma_of_positive(1 - x) - std::numbers::pi / std::tan(std::numbers::pi * from_nearest_pole(x));
}

/// The terms below 0 are two sums of positive ones.
double zeta_of_any(double s, double x) {
  if (x > 0) return std::isinf(x) ? 0 : zeta(s, x);
  const double distance = from_nearest_pole(x);
  const double to_right = distance > 0 ? distance : 1 + distance,
               to_left = distance > 0 ? 1 - distance : -distance;
  const double below = zeta(s, to_left) - zeta(s, 1 - x);
  return zeta(s, to_right) + (std::fmod(s, 2) == 0 ? below : -below);
}

}  // namespace

double polygamma(unsigned n, double x) {
  if (x != x || (x <= 0 && x == std::floor(x))) return std::numeric_limits<double>::quiet_NaN();
  if (n == 0) return digamma(x);
  const double size = std::tgamma(n + 1.0) * zeta_of_any(n + 1.0, x);
  return n % 2 == 1 ? size : -size;
}

}  // namespace corescale::special
