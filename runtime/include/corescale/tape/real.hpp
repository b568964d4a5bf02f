// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <limits>
#include <ostream>
#include <type_traits>

#include "corescale/tape/detail/operators.hpp"

namespace corescale::inline v0 {

/// A number that records what is done with it: a value of Base, and, for a variable, its place in the
/// recording that its thread has open for this Base (gradient_tape.hpp). A number made of a Base or a
/// built-in number is a parameter: statements of nothing but parameters are computed and not recorded.
///
/// Base         double, float, series (series.hpp), an interval (interval.hpp), or a real again: derivatives
///              of derivatives.
/// Operators    + - * / and their assignments, comparisons, and the functions of <cmath> below, found by
///              argument-dependent lookup: write `using std::sin; sin(x)` in generic code.
/// Expressions  Over double, float and series of order 3 at most, operators and functions give an expression; so do + - * / over a real.
///              Each conversion of it to a real records it as one statement. It holds its operands by value. If two results must have one
///              type, name it: `c ? real<double>(x * 2) : x * x`, and `max(x * 2, y)` after `using std::max`.
/// Comparisons  give bool and are recorded, because the program may branch on them. A recorded function throws branch_change at a point
///              where one has another outcome. select_* does not branch.
/// Throws       when it is recorded: tape_misuse for a variable whose recording this thread does not have open; std::length_error beyond
///              2^32 - 2 statements; std::bad_alloc. The recording stays usable.
/// Threads      A variable belongs to one thread; a parameter may be read by any.
template <class Base>
class real {
 public:
  using base_type = Base;

  constexpr real() noexcept : value_() {}
  // NOLINTBEGIN(google-explicit-constructor): numbers convert to it as to double
  constexpr real(const Base& value) noexcept : value_(value) {}
  template <class Number>
  requires(std::is_arithmetic_v<Number> &&
           !std::is_same_v<Number, Base>) constexpr real(Number value) noexcept
      : value_(static_cast<double>(value)) {}
  template <detail::an_expression E>
  requires std::is_same_v<typename E::base_type, Base>
  [[gnu::always_inline]] real(const E& e) : value_(e.z), place_(detail::record(e)) {}
  template <detail::an_expression E>
  requires(!std::is_same_v<typename E::base_type, Base> && std::is_convertible_v<E, Base>) real(const E& e)
      : value_(e) {}
  // NOLINTEND(google-explicit-constructor)

  constexpr real(const real&) noexcept = default;
  /// Member by member: as one copy of 16 bytes it would wait until the stores before it are in the cache.
  constexpr real& operator=(const real& other) noexcept {
    value_ = other.value_;
    place_.recording = other.place_.recording;
    place_.index = other.place_.index;
    return *this;
  }

  /// Only the value, which keeps nothing of the recording.
  constexpr const Base& value() const noexcept { return value_; }

  /// Whether it depends on a variable of a recording, open or ended.
  constexpr bool is_variable() const noexcept { return place_.recording != detail::parameter; }

  template <class Y>
  requires detail::operands<real, Y>
  [[gnu::always_inline]] real& operator+=(const Y& y) { return *this = *this + y; }
  template <class Y>
  requires detail::operands<real, Y>
  [[gnu::always_inline]] real& operator-=(const Y& y) { return *this = *this - y; }
  template <class Y>
  requires detail::operands<real, Y>
  [[gnu::always_inline]] real& operator*=(const Y& y) { return *this = *this * y; }
  template <class Y>
  requires detail::operands<real, Y>
  [[gnu::always_inline]] real& operator/=(const Y& y) { return *this = *this / y; }

 private:
  constexpr real(const Base& value, detail::place place) : value_(value), place_(place) {}

  friend detail::inside;

  Base value_;
  detail::place place_;
};

// Each function takes numbers and expressions of one Base, of which all but one may be constants.
#define CORESCALE_TAPE_1(function, row)                     \
  template <detail::recorded X>                             \
  [[gnu::always_inline]] inline auto function(const X& x) { \
    return detail::apply<operations::row>(x);               \
  }
#define CORESCALE_TAPE_2(function, row)                                 \
  template <class X, class Y>                                           \
  requires detail::operands<X, Y>                                       \
  [[gnu::always_inline]] inline auto function(const X& x, const Y& y) { \
    return detail::apply<operations::row>(x, y);                        \
  }
#define CORESCALE_TAPE_COMPARISON(sign, row, first, second)                           \
  template <class X, class Y>                                                         \
  requires detail::operands<X, Y>                                                     \
  bool operator sign(const X& x, const Y& y) {                                        \
    return detail::decide<operations::row, detail::common_base<X, Y>>(first, second); \
  }
#define CORESCALE_TAPE_SELECTION(function, row)                                                 \
  template <class L, class R, class X, class Y>                                                 \
  requires detail::operands<L, R, X, Y>                                                         \
  auto function(const L& left, const R& right, const X& x, const Y& y) {                        \
    return detail::select<operations::row, detail::common_base<L, R, X, Y>>(left, right, x, y); \
  }

CORESCALE_TAPE_2(operator+, add)
CORESCALE_TAPE_2(operator-, subtract)
CORESCALE_TAPE_2(operator*, multiply)
CORESCALE_TAPE_2(operator/, divide)
CORESCALE_TAPE_1(operator-, negate)

CORESCALE_TAPE_COMPARISON(<, less, x, y)
CORESCALE_TAPE_COMPARISON(>, less, y, x)
CORESCALE_TAPE_COMPARISON(<=, less_equal, x, y)
CORESCALE_TAPE_COMPARISON(>=, less_equal, y, x)
CORESCALE_TAPE_COMPARISON(==, equal, x, y)

/// left < right ? x : y, and so on, without a branch: each evaluation of a recorded function decides anew.
CORESCALE_TAPE_SELECTION(select_less, less)
CORESCALE_TAPE_SELECTION(select_less_equal, less_equal)
CORESCALE_TAPE_SELECTION(select_equal, equal)

CORESCALE_TAPE_1(sqrt, square_root)
CORESCALE_TAPE_1(cbrt, cube_root)
CORESCALE_TAPE_1(exp, exponential)
CORESCALE_TAPE_1(exp2, exponential_2)
CORESCALE_TAPE_1(expm1, exponential_minus_1)
CORESCALE_TAPE_1(log, logarithm)
CORESCALE_TAPE_1(log2, logarithm_2)
CORESCALE_TAPE_1(log10, logarithm_10)
CORESCALE_TAPE_1(log1p, logarithm_plus_1)
CORESCALE_TAPE_1(sin, sine)
CORESCALE_TAPE_1(cos, cosine)
CORESCALE_TAPE_1(tan, tangent)
CORESCALE_TAPE_1(asin, arc_sine)
CORESCALE_TAPE_1(acos, arc_cosine)
CORESCALE_TAPE_1(atan, arc_tangent)
CORESCALE_TAPE_1(sinh, hyperbolic_sine)
CORESCALE_TAPE_1(cosh, hyperbolic_cosine)
CORESCALE_TAPE_1(tanh, hyperbolic_tangent)
CORESCALE_TAPE_1(asinh, inverse_hyperbolic_sine)
CORESCALE_TAPE_1(acosh, inverse_hyperbolic_cosine)
CORESCALE_TAPE_1(atanh, inverse_hyperbolic_tangent)
CORESCALE_TAPE_1(erf, error_function)
CORESCALE_TAPE_1(erfc, complementary_error_function)
CORESCALE_TAPE_1(tgamma, gamma_function)
CORESCALE_TAPE_1(lgamma, logarithm_of_gamma)
CORESCALE_TAPE_1(log_gamma, logarithm_of_gamma)
CORESCALE_TAPE_1(fabs, absolute)
CORESCALE_TAPE_1(abs, absolute)
CORESCALE_TAPE_1(sign, sign_of)
CORESCALE_TAPE_1(floor, floor_of)
CORESCALE_TAPE_1(ceil, ceiling)
CORESCALE_TAPE_1(trunc, truncated)
CORESCALE_TAPE_1(round, rounded)
CORESCALE_TAPE_1(rint, rounded_to_even)
CORESCALE_TAPE_1(nearbyint, rounded_to_even)

CORESCALE_TAPE_2(pow, power)
CORESCALE_TAPE_2(hypot, hypotenuse)
CORESCALE_TAPE_2(atan2, arc_tangent_2)
CORESCALE_TAPE_2(fmin, lesser)
CORESCALE_TAPE_2(fmax, greater)
CORESCALE_TAPE_2(fdim, positive_difference)
CORESCALE_TAPE_2(copysign, copy_sign)
CORESCALE_TAPE_2(fmod, modulo)
CORESCALE_TAPE_2(remainder, ieee_remainder)

#undef CORESCALE_TAPE_1
#undef CORESCALE_TAPE_2
#undef CORESCALE_TAPE_COMPARISON
#undef CORESCALE_TAPE_SELECTION

template <detail::recorded X>
X operator+(const X& x) {
  return x;
}
template <class X, class Y, class Z>
requires detail::operands<X, Y, Z>
[[gnu::always_inline]] inline auto fma(const X& x, const Y& y, const Z& z) { return x * y + z; }

/// As std::max and std::min of two numbers: the program branches. Those take no expressions.
template <class X, class Y>
requires(detail::operands<X, Y> && !std::is_same_v<X, Y>) auto max(const X& x, const Y& y) {
  const real<detail::common_base<X, Y>> first = x, second = y;
  return first < second ? second : first;
}
template <class X, class Y>
requires(detail::operands<X, Y> && !std::is_same_v<X, Y>) auto min(const X& x, const Y& y) {
  const real<detail::common_base<X, Y>> first = x, second = y;
  return second < first ? second : first;
}

/// Multiplies in steps whose factors Base can hold, the remainder first, so that the result is rounded once.
template <detail::recorded X>
auto ldexp(const X& x, int power) {
  using base = typename X::base_type;
  constexpr int exponents = std::numeric_limits<base>::max_exponent;
  constexpr int step = exponents > 2 ? exponents - 2 : 1022;
  const int bounded = std::clamp(power, -3 * step, 3 * step);
  real<base> z = x * std::ldexp(1.0, bounded % step);
  for (int steps = bounded / step; steps != 0; steps += steps < 0 ? 1 : -1)
    z = z * std::ldexp(1.0, steps < 0 ? -step : step);
  return z;
}
template <detail::recorded X>
auto polygamma(unsigned n, const X& x) {
  return detail::apply<operations::polygamma_function>(static_cast<double>(n), x);
}

/// Queries of the value alone, which are not recorded.
template <detail::recorded X>
bool isnan(const X& x) {
  return x.value() != x.value();
}
template <detail::recorded X>
bool isfinite(const X& x) {
  const auto difference = x.value() - x.value();
  return !(difference != difference);
}
template <detail::recorded X>
bool isinf(const X& x) {
  return !isnan(x) && !isfinite(x);
}
template <detail::recorded X>
bool is_whole(const X& x) {
  using special::is_whole;
  return is_whole(x.value());
}
template <detail::recorded X>
unsigned whole(const X& x) {
  using special::whole;
  return whole(x.value());
}

template <detail::recorded X>
std::ostream& operator<<(std::ostream& out, const X& x) {
  return out << x.value();
}

}  // namespace corescale

template <class Base>
struct std::numeric_limits<corescale::real<Base>> : std::numeric_limits<Base> {
  static constexpr corescale::real<Base> min() noexcept { return std::numeric_limits<Base>::min(); }
  static constexpr corescale::real<Base> max() noexcept { return std::numeric_limits<Base>::max(); }
  static constexpr corescale::real<Base> lowest() noexcept { return std::numeric_limits<Base>::lowest(); }
  static constexpr corescale::real<Base> epsilon() noexcept { return std::numeric_limits<Base>::epsilon(); }
  static constexpr corescale::real<Base> infinity() noexcept { return std::numeric_limits<Base>::infinity(); }
  static constexpr corescale::real<Base> quiet_NaN() noexcept {
    return std::numeric_limits<Base>::quiet_NaN();
  }
};
