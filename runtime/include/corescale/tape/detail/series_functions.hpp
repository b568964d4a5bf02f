// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "corescale/tape/series.hpp"

// The functions of <cmath> on Taylor series. Each is one of a few recurrences; x' is dx/dt.
// `inline` raises g++'s limit for inlining. A call returns the coefficients of order 1 separately (series::generate).
namespace corescale::inline v0 {
namespace detail {

/// The k-th coefficient of the integral of x' g, for k >= 1.
template <class Base, std::size_t Order>
Base integrated(std::size_t k, const series<Base, Order>& x, const series<Base, Order>& g) {
  Base sum(0.0);
  for (std::size_t j = 1; j <= k; ++j) sum += static_cast<double>(j) * x.at(j) * g.at(k - j);
  return static_cast<Base>(sum / static_cast<double>(k));
}

/// z with z[0] = first and z' = x' g.
template <class Base, std::size_t Order>
inline series<Base, Order> integral(const Base& first, const series<Base, Order>& x,
                                    const series<Base, Order>& g) {
  return series<Base, Order>::generate(
      x.size(), [&](std::size_t k, const auto&) { return k == 0 ? first : integrated(k, x, g); });
}

/// z with z[0] = first and z' = x' z.
template <class Base, std::size_t Order>
inline series<Base, Order> exponential(const Base& first, const series<Base, Order>& x) {
  return series<Base, Order>::generate(
      x.size(), [&](std::size_t k, const auto& z) { return k == 0 ? first : integrated(k, x, z); });
}

/// z with z[0] = first and x z' = exponent z x'.
template <class Base, std::size_t Order>
inline series<Base, Order> power(const Base& first, const series<Base, Order>& x, const Base& exponent) {
  return series<Base, Order>::generate(x.size(), [&](std::size_t k, const auto& z) -> Base {
    if (k == 0) return first;
    Base sum(0.0);
    for (std::size_t j = 1; j <= k; ++j)
      sum += (exponent * static_cast<double>(j) - static_cast<double>(k - j)) * x.at(j) * z[k - j];
    return static_cast<Base>(sum / (static_cast<double>(k) * x[0]));
  });
}

/// x multiplied by itself, for exponents 0, 1, 2, ...: also right if x[0] is 0.
template <class Series>
Series whole_power(Series x, unsigned exponent) {
  Series result(1.0);
  for (; exponent; exponent /= 2, x *= x)
    if (exponent % 2) result *= x;
  return result;
}

/// The pair s' = x' c, c' = sign x' s: sine and cosine (sign -1), or the hyperbolic ones (+1).
template <class Base, std::size_t Order>
struct circle {
  circle(const Base& sine, const Base& cosine, double sign, const series<Base, Order>& x) : s(x), c(x) {
    s[0] = sine;
    c[0] = cosine;
    for (std::size_t k = 1; k < x.size(); ++k) {
      const Base next = integrated(k, x, c);
      c[k] = static_cast<Base>(sign * integrated(k, x, s));
      s[k] = next;
    }
  }
  series<Base, Order> s, c;
};

template <class Base, std::size_t Order>
bool is_constant(const series<Base, Order>& x) {
  return is_zero(x - series<Base, Order>(x[0]));
}

/// The first coefficient of a row's function of a series.
template <class Row, class Base, std::size_t Order, class... More>
Base first(const series<Base, Order>& x, const More&... more) {
  return static_cast<Base>(Row::value(x[0], more[0]...));
}

/// A function whose derivative has a formula only in x, by its row.
template <class Row, class Base, std::size_t Order>
series<Base, Order> by_derivative(const series<Base, Order>& x) {
  return integral(first<Row>(x), x, series<Base, Order>(Row::dx(x, x)));
}

/// x with another first coefficient.
template <class Base, std::size_t Order>
series<Base, Order> beginning(const Base& first, series<Base, Order> x) {
  x[0] = first;
  return x;
}

}  // namespace detail

#define CORESCALE_SERIES_FUNCTION(function) \
  template <class Base, std::size_t Order>  \
  inline series<Base, Order> function(const series<Base, Order>& x)
#define CORESCALE_SERIES_FUNCTION_2(function)                       \
  template <class Base, std::size_t Order>                          \
  inline series<Base, Order> function(const series<Base, Order>& x, \
                                      const std::type_identity_t<series<Base, Order>>& y)

// --- powers, exponentials, logarithms ---

CORESCALE_SERIES_FUNCTION(sqrt) {
  return detail::power(detail::first<operations::square_root>(x), x, Base(0.5));
}
CORESCALE_SERIES_FUNCTION(cbrt) {
  return detail::power(detail::first<operations::cube_root>(x), x, static_cast<Base>(Base(1.0) / 3.0));
}
CORESCALE_SERIES_FUNCTION(exp) { return detail::exponential(detail::first<operations::exponential>(x), x); }
CORESCALE_SERIES_FUNCTION(exp2) {
  return detail::exponential(detail::first<operations::exponential_2>(x), x * operations::log_of_2);
}
CORESCALE_SERIES_FUNCTION(expm1) { return detail::by_derivative<operations::exponential_minus_1>(x); }
CORESCALE_SERIES_FUNCTION(log) { return detail::by_derivative<operations::logarithm>(x); }
CORESCALE_SERIES_FUNCTION(log2) { return detail::by_derivative<operations::logarithm_2>(x); }
CORESCALE_SERIES_FUNCTION(log10) { return detail::by_derivative<operations::logarithm_10>(x); }
CORESCALE_SERIES_FUNCTION(log1p) { return detail::by_derivative<operations::logarithm_plus_1>(x); }
CORESCALE_SERIES_FUNCTION_2(pow) {
  const Base first = detail::first<operations::power>(x, y);
  if (!detail::is_constant(y)) return detail::exponential(first, series<Base, Order>(y * log(x)));
  if (!(x[0] == 0.0)) return detail::power(first, x, y[0]);
  using special::is_whole, special::whole;
  if (is_whole(y[0])) return detail::beginning(first, detail::whole_power(x, whole(y[0])));
  return detail::integral(first, x,
                          series<Base, Order>(y * Base(operations::power::value(x[0], y[0] - 1.0))));
}

// --- circles and hyperbolas ---

CORESCALE_SERIES_FUNCTION(sin) {
  return detail::circle(detail::first<operations::sine>(x), detail::first<operations::cosine>(x), -1.0, x).s;
}
CORESCALE_SERIES_FUNCTION(cos) {
  return detail::circle(detail::first<operations::sine>(x), detail::first<operations::cosine>(x), -1.0, x).c;
}
CORESCALE_SERIES_FUNCTION(sinh) {
  return detail::circle(detail::first<operations::hyperbolic_sine>(x),
                        detail::first<operations::hyperbolic_cosine>(x), 1.0, x)
      .s;
}
CORESCALE_SERIES_FUNCTION(cosh) {
  return detail::circle(detail::first<operations::hyperbolic_sine>(x),
                        detail::first<operations::hyperbolic_cosine>(x), 1.0, x)
      .c;
}
CORESCALE_SERIES_FUNCTION(tan) {
  const series<Base, Order> cosine = cos(x);
  return detail::integral(detail::first<operations::tangent>(x), x, 1.0 / (cosine * cosine));
}
CORESCALE_SERIES_FUNCTION(tanh) { return detail::by_derivative<operations::hyperbolic_tangent>(x); }
CORESCALE_SERIES_FUNCTION(asin) { return detail::by_derivative<operations::arc_sine>(x); }
CORESCALE_SERIES_FUNCTION(acos) { return detail::by_derivative<operations::arc_cosine>(x); }
CORESCALE_SERIES_FUNCTION(atan) { return detail::by_derivative<operations::arc_tangent>(x); }
CORESCALE_SERIES_FUNCTION(asinh) { return detail::by_derivative<operations::inverse_hyperbolic_sine>(x); }
CORESCALE_SERIES_FUNCTION(acosh) { return detail::by_derivative<operations::inverse_hyperbolic_cosine>(x); }
CORESCALE_SERIES_FUNCTION(atanh) { return detail::by_derivative<operations::inverse_hyperbolic_tangent>(x); }
CORESCALE_SERIES_FUNCTION_2(atan2) {
  using row = operations::arc_tangent_2;
  const Base first = detail::first<row>(x, y);
  const series<Base, Order> part = detail::integral(first, x, row::dx(x, y, x));
  const series<Base, Order> other = detail::integral(Base(0.0), series<Base, Order>(y), row::dy(x, y, x));
  return detail::beginning(first, part + other);  // the sum of -0 and 0 is 0
}
CORESCALE_SERIES_FUNCTION_2(hypot) {
  const Base first = detail::first<operations::hypotenuse>(x, y);
  if (first == 0.0) return first;
  const series<Base, Order> a = x / first, b = y / first;
  return detail::beginning(first, first * sqrt(a * a + b * b));
}

// --- error and gamma functions ---

CORESCALE_SERIES_FUNCTION(erf) { return detail::by_derivative<operations::error_function>(x); }
CORESCALE_SERIES_FUNCTION(erfc) { return detail::by_derivative<operations::complementary_error_function>(x); }
/// The sum of the derivatives at x[0], each times a power of x - x[0].
template <class Base, std::size_t Order>
series<Base, Order> polygamma(unsigned n, const series<Base, Order>& x) {
  using special::polygamma;
  const series<Base, Order> step = detail::beginning(Base(0.0), x);
  series<Base, Order> sum(0.0);
  double factorial = 1.0;
  for (std::size_t j = 1; j < x.size(); ++j) factorial *= static_cast<double>(j);
  for (std::size_t j = x.size(); j-- > 0;) {
    sum = sum * step + Base(polygamma(n + static_cast<unsigned>(j), x[0])) / factorial;
    if (j > 0) factorial /= static_cast<double>(j);
  }
  return sum;
}
CORESCALE_SERIES_FUNCTION(log_gamma) { return detail::by_derivative<operations::logarithm_of_gamma>(x); }
CORESCALE_SERIES_FUNCTION(tgamma) {
  return detail::exponential(detail::first<operations::gamma_function>(x), log_gamma(x));
}

// --- pieces: which one is decided by the first coefficient ---

CORESCALE_SERIES_FUNCTION(sign) { return detail::first<operations::sign_of>(x); }
CORESCALE_SERIES_FUNCTION(floor) { return detail::first<operations::floor_of>(x); }
CORESCALE_SERIES_FUNCTION(ceil) { return detail::first<operations::ceiling>(x); }
CORESCALE_SERIES_FUNCTION(trunc) { return detail::first<operations::truncated>(x); }
CORESCALE_SERIES_FUNCTION(round) { return detail::first<operations::rounded>(x); }
CORESCALE_SERIES_FUNCTION(rint) { return detail::first<operations::rounded_to_even>(x); }
CORESCALE_SERIES_FUNCTION(abs) {
  return detail::beginning(detail::first<operations::absolute>(x), sign(x) * x);
}
CORESCALE_SERIES_FUNCTION_2(fmin) {
  return detail::beginning(detail::first<operations::lesser>(x, y),
                           y < x || operations::is_nan(x) ? series<Base, Order>(y) : x);
}
CORESCALE_SERIES_FUNCTION_2(fmax) {
  return detail::beginning(detail::first<operations::greater>(x, y),
                           x < y || operations::is_nan(x) ? series<Base, Order>(y) : x);
}
CORESCALE_SERIES_FUNCTION_2(fdim) {
  return detail::beginning(detail::first<operations::positive_difference>(x, y),
                           x > y ? x - y : 0.0 * (x - y));
}
CORESCALE_SERIES_FUNCTION_2(copysign) {
  using row = operations::copy_sign;
  return detail::beginning(detail::first<row>(x, y), Base(row::dx(x[0], y[0], x[0])) * x);
}
CORESCALE_SERIES_FUNCTION_2(fmod) {
  using row = operations::modulo;
  const Base first = detail::first<row>(x, y);
  return detail::beginning(first, x + Base(row::dy(x[0], y[0], first)) * y);
}
CORESCALE_SERIES_FUNCTION_2(remainder) {
  using row = operations::ieee_remainder;
  const Base first = detail::first<row>(x, y);
  return detail::beginning(first, x + Base(row::dy(x[0], y[0], first)) * y);
}
template <class Base, std::size_t Order>
unsigned whole(const series<Base, Order>& x) {
  using special::whole;
  return whole(x[0]);
}

#undef CORESCALE_SERIES_FUNCTION
#undef CORESCALE_SERIES_FUNCTION_2

}  // namespace corescale::inline v0
