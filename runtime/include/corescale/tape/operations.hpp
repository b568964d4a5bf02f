// SPDX-License-Identifier: Apache-2.0 (more than 300 lines: one table, whose rows are compared more easily in one place)
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include "corescale/tape/special.hpp"

/// The operations that a tape knows, one row each: its name, its value, and its partial derivatives, given
/// the operands x and y and the result z. A row is written for any type with arithmetic and functions. The type is the
/// base type if an operator records itself, a Taylor series for higher derivatives of a recorded function, and a recorded type for
/// derivatives of derivatives.
///
/// If a function has no derivative, a row gives 0 between two opposite slopes (abs and hypot at 0), and the
/// derivative of one side at a step. Outside a function's domain, a row gives what <cmath> gives for the formula: inf or NaN.
namespace corescale::inline v0::operations {

using special::log_gamma, special::polygamma, special::sign, special::whole;
using std::abs, std::acos, std::acosh, std::asin, std::asinh, std::atan, std::atan2, std::atanh, std::cbrt,
    std::ceil;
using std::copysign, std::cos, std::cosh, std::erf, std::erfc, std::exp, std::exp2, std::expm1, std::fdim;
using std::floor, std::fmax, std::fmin, std::fmod, std::hypot, std::log, std::log10, std::log1p;
using std::log2, std::pow, std::remainder, std::rint, std::round, std::sin, std::sinh, std::sqrt, std::tan;
using std::tanh, std::tgamma, std::trunc;

inline constexpr double log_of_2 = 0.693147180559945309417;
inline constexpr double log_of_10 = 2.30258509299404568402;
inline constexpr double two_over_root_pi = 1.12837916709551257390;

/// A function's value and its derivative. A row that has both(x) computes them together.
template <class T>
struct value_with_dx {
  T value;
  T dx;
};

/// -1 or 1, by the sign bit.
template <class T>
T sign_bit(const T& x) {
  return copysign(T(1.0), x);
}

// --- arithmetic: inlined by order, as expressions are (detail/expressions.hpp) ---

struct add {
  static constexpr const char* name = "+";
  [[gnu::always_inline]] static auto value(const auto& x, const auto& y) { return x + y; }
  static auto dx(const auto&, const auto&, const auto&) { return 1.0; }
  static auto dy(const auto&, const auto&, const auto&) { return 1.0; }
};

struct subtract {
  static constexpr const char* name = "-";
  [[gnu::always_inline]] static auto value(const auto& x, const auto& y) { return x - y; }
  static auto dx(const auto&, const auto&, const auto&) { return 1.0; }
  static auto dy(const auto&, const auto&, const auto&) { return -1.0; }
};

struct multiply {
  static constexpr const char* name = "*";
  [[gnu::always_inline]] static auto value(const auto& x, const auto& y) { return x * y; }
  static auto dx(const auto&, const auto& y, const auto&) { return y; }
  static auto dy(const auto& x, const auto&, const auto&) { return x; }
};

struct divide {
  static constexpr const char* name = "/";
  [[gnu::always_inline]] static auto value(const auto& x, const auto& y) { return x / y; }
  [[gnu::always_inline]] static auto dx(const auto&, const auto& y, const auto&) { return 1.0 / y; }
  [[gnu::always_inline]] static auto dy(const auto&, const auto& y, const auto& z) { return -z * (1.0 / y); }
};

struct negate {
  static constexpr const char* name = "negative";
  [[gnu::always_inline]] static auto value(const auto& x) { return -x; }
  static auto dx(const auto&, const auto&) { return -1.0; }
};

// --- powers ---

struct square_root {
  static constexpr const char* name = "sqrt";
  static auto value(const auto& x) { return sqrt(x); }
  static auto dx(const auto&, const auto& z) { return 0.5 / z; }
};

struct cube_root {
  static constexpr const char* name = "cbrt";
  static auto value(const auto& x) { return cbrt(x); }
  static auto dx(const auto&, const auto& z) { return 1.0 / (3.0 * (z * z)); }
};

struct power {
  static constexpr const char* name = "pow";
  static auto value(const auto& x, const auto& y) { return pow(x, y); }
  template <class T>
  static T dx(const T& x, const T& y, const T&) {
    return y == 0.0 && x == 0.0 ? T(0.0 * y) : T(y * pow(x, y - 1.0));
  }
  template <class T>
  static T dy(const T& x, const T& y, const T& z) {
    return x == 0.0 && y > 0.0 ? T(0.0 * z) : T(z * log(x));
  }
};

struct hypotenuse {
  static constexpr const char* name = "hypot";
  static auto value(const auto& x, const auto& y) { return hypot(x, y); }
  template <class T>
  static T dx(const T& x, const T&, const T& z) {
    return z == 0.0 ? T(0.0 * z) : T(x / z);
  }
  template <class T>
  static T dy(const T&, const T& y, const T& z) {
    return z == 0.0 ? T(0.0 * z) : T(y / z);
  }
};

// --- exponentials and logarithms ---

struct exponential {
  static constexpr const char* name = "exp";
  static auto value(const auto& x) { return exp(x); }
  static auto dx(const auto&, const auto& z) { return z; }
};

struct exponential_2 {
  static constexpr const char* name = "exp2";
  static auto value(const auto& x) { return exp2(x); }
  static auto dx(const auto&, const auto& z) { return log_of_2 * z; }
};

struct exponential_minus_1 {
  static constexpr const char* name = "expm1";
  static auto value(const auto& x) { return expm1(x); }
  static auto dx(const auto& x, const auto&) { return exp(x); }
};

struct logarithm {
  static constexpr const char* name = "log";
  static auto value(const auto& x) { return log(x); }
  static auto dx(const auto& x, const auto&) { return 1.0 / x; }
};

struct logarithm_2 {
  static constexpr const char* name = "log2";
  static auto value(const auto& x) { return log2(x); }
  static auto dx(const auto& x, const auto&) { return 1.0 / (log_of_2 * x); }
};

struct logarithm_10 {
  static constexpr const char* name = "log10";
  static auto value(const auto& x) { return log10(x); }
  static auto dx(const auto& x, const auto&) { return 1.0 / (log_of_10 * x); }
};

struct logarithm_plus_1 {
  static constexpr const char* name = "log1p";
  static auto value(const auto& x) { return log1p(x); }
  static auto dx(const auto& x, const auto&) { return 1.0 / (1.0 + x); }
};

// --- trigonometric functions ---

struct sine {
  static constexpr const char* name = "sin";
  static auto value(const auto& x) { return sin(x); }
  static auto dx(const auto& x, const auto&) { return cos(x); }
  static value_with_dx<double> both(double x) {
    const special::sine_and_cosine of(x);
    return {of.sine, of.cosine};
  }
};

struct cosine {
  static constexpr const char* name = "cos";
  static auto value(const auto& x) { return cos(x); }
  static auto dx(const auto& x, const auto&) { return -sin(x); }
  static value_with_dx<double> both(double x) {
    const special::sine_and_cosine of(x);
    return {of.cosine, -of.sine};
  }
};

struct tangent {
  static constexpr const char* name = "tan";
  static auto value(const auto& x) { return tan(x); }
  static auto dx(const auto&, const auto& z) { return 1.0 + z * z; }
};

struct arc_sine {
  static constexpr const char* name = "asin";
  static auto value(const auto& x) { return asin(x); }
  static auto dx(const auto& x, const auto&) { return 1.0 / sqrt((1.0 - x) * (1.0 + x)); }
};

struct arc_cosine {
  static constexpr const char* name = "acos";
  static auto value(const auto& x) { return acos(x); }
  static auto dx(const auto& x, const auto&) { return -1.0 / sqrt((1.0 - x) * (1.0 + x)); }
};

struct arc_tangent {
  static constexpr const char* name = "atan";
  static auto value(const auto& x) { return atan(x); }
  static auto dx(const auto& x, const auto&) { return 1.0 / (1.0 + x * x); }
};

struct arc_tangent_2 {
  static constexpr const char* name = "atan2";
  static auto value(const auto& x, const auto& y) { return atan2(x, y); }
  static auto dx(const auto& x, const auto& y, const auto&) { return y / hypot(x, y) / hypot(x, y); }
  static auto dy(const auto& x, const auto& y, const auto&) { return -x / hypot(x, y) / hypot(x, y); }
};

// --- hyperbolic functions ---

/// 1 / cosh(x)^2 for e = exp(-2 |x|), which neither cancels nor overflows. The sign bit of 0 has |x| smooth there.
auto squared_secant(const auto& e) { return 4.0 * e / ((1.0 + e) * (1.0 + e)); }

struct hyperbolic_sine {
  static constexpr const char* name = "sinh";
  static auto value(const auto& x) { return sinh(x); }
  static auto dx(const auto& x, const auto&) { return cosh(x); }
};

struct hyperbolic_cosine {
  static constexpr const char* name = "cosh";
  static auto value(const auto& x) { return cosh(x); }
  static auto dx(const auto& x, const auto&) { return sinh(x); }
};

struct hyperbolic_tangent {
  static constexpr const char* name = "tanh";
  static auto value(const auto& x) { return tanh(x); }
  template <class T>
  static T dx(const T& x, const T&) {
    return T(squared_secant(T(exp(-2.0 * sign_bit(x) * x))));
  }
};

/// sqrt(1 + x^2); does not overflow if T has hypot.
auto root_of_1_and_square(const auto& x) {
  if constexpr (requires { hypot(x, 1.0); })
    return hypot(x, 1.0);
  else
    return sqrt(1.0 + x * x);
}

struct inverse_hyperbolic_sine {
  static constexpr const char* name = "asinh";
  static auto value(const auto& x) { return asinh(x); }
  static auto dx(const auto& x, const auto&) { return 1.0 / root_of_1_and_square(x); }
};

struct inverse_hyperbolic_cosine {
  static constexpr const char* name = "acosh";
  static auto value(const auto& x) { return acosh(x); }
  static auto dx(const auto& x, const auto&) { return 1.0 / (sqrt(x - 1.0) * sqrt(x + 1.0)); }
};

struct inverse_hyperbolic_tangent {
  static constexpr const char* name = "atanh";
  static auto value(const auto& x) { return atanh(x); }
  static auto dx(const auto& x, const auto&) { return 1.0 / ((1.0 - x) * (1.0 + x)); }
};

// --- error and gamma functions ---

struct error_function {
  static constexpr const char* name = "erf";
  static auto value(const auto& x) { return erf(x); }
  static auto dx(const auto& x, const auto&) { return two_over_root_pi * exp(-x * x); }
};

struct complementary_error_function {
  static constexpr const char* name = "erfc";
  static auto value(const auto& x) { return erfc(x); }
  static auto dx(const auto& x, const auto&) { return -two_over_root_pi * exp(-x * x); }
};

struct gamma_function {
  static constexpr const char* name = "tgamma";
  static auto value(const auto& x) { return tgamma(x); }
  static auto dx(const auto& x, const auto& z) { return z * polygamma(0, x); }
};

struct logarithm_of_gamma {
  static constexpr const char* name = "lgamma";
  static auto value(const auto& x) { return log_gamma(x); }
  static auto dx(const auto& x, const auto&) { return polygamma(0, x); }
};

/// The derivative of order x + 1 of log(gamma(y)); recorded by derivatives of tgamma and lgamma only. Its
/// order is never a variable.
struct polygamma_function {
  static constexpr const char* name = "polygamma";
  static auto value(const auto& x, const auto& y) { return polygamma(whole(x), y); }
  static auto dx(const auto&, const auto&, const auto&) { return 0.0; }
  static auto dy(const auto& x, const auto& y, const auto&) { return polygamma(whole(x) + 1, y); }
};

// --- comparisons ---

struct less {
  static constexpr const char* name = "<";
  static bool holds(const auto& x, const auto& y) { return x < y; }
};
struct less_equal {
  static constexpr const char* name = "<=";
  static bool holds(const auto& x, const auto& y) { return x <= y; }
};
struct equal {
  static constexpr const char* name = "==";
  static bool holds(const auto& x, const auto& y) { return x == y; }
};

/// left compared to right ? x : y. Where T records, each evaluation decides anew (detail/operators.hpp).
template <class Comparison, class T>
T choose(Comparison, const T& left, const T& right, const T& x, const T& y) {
  return Comparison::holds(left, right) ? x : y;
}

// --- pieces: absolute value, the lesser and the greater, remainders, rounding ---

struct absolute {
  static constexpr const char* name = "abs";
  static auto value(const auto& x) { return abs(x); }
  static auto dx(const auto& x, const auto&) { return sign(x); }
};

struct sign_of {
  static constexpr const char* name = "sign";
  static auto value(const auto& x) { return sign(x); }
  static auto dx(const auto&, const auto&) { return 0.0; }
};

template <class T>
bool is_nan(const T& x) {
  return x != x;  // NOLINT(misc-redundant-expression)
}

/// `second` if an operation takes its second operand, else `first`. It takes the second if left < right, or if the first, x, is not a
/// number.
template <class T>
T by_taken(const T& x, const T& left, const T& right, const T& first, const T& second) {
  return choose(equal(), x, x, choose(less(), left, right, second, first), second);
}

struct lesser {
  static constexpr const char* name = "fmin";
  static auto value(const auto& x, const auto& y) { return fmin(x, y); }
  template <class T>
  static T dx(const T& x, const T& y, const T&) {
    return by_taken(x, y, x, T(1.0), T(0.0));
  }
  template <class T>
  static T dy(const T& x, const T& y, const T&) {
    return by_taken(x, y, x, T(0.0), T(1.0));
  }
};

struct greater {
  static constexpr const char* name = "fmax";
  static auto value(const auto& x, const auto& y) { return fmax(x, y); }
  template <class T>
  static T dx(const T& x, const T& y, const T&) {
    return by_taken(x, x, y, T(1.0), T(0.0));
  }
  template <class T>
  static T dy(const T& x, const T& y, const T&) {
    return by_taken(x, x, y, T(0.0), T(1.0));
  }
};

struct positive_difference {
  static constexpr const char* name = "fdim";
  static auto value(const auto& x, const auto& y) { return fdim(x, y); }
  template <class T>
  static T dx(const T& x, const T& y, const T&) {
    return choose(less(), y, x, T(1.0), T(0.0));
  }
  template <class T>
  static T dy(const T& x, const T& y, const T&) {
    return choose(less(), y, x, T(-1.0), T(0.0));
  }
};

struct copy_sign {
  static constexpr const char* name = "copysign";
  static auto value(const auto& x, const auto& y) { return copysign(x, y); }
  static auto dx(const auto& x, const auto& y, const auto&) { return sign_bit(x) * sign_bit(y); }
  static auto dy(const auto&, const auto&, const auto&) { return 0.0; }
};

struct modulo {
  static constexpr const char* name = "fmod";
  static auto value(const auto& x, const auto& y) { return fmod(x, y); }
  static auto dx(const auto&, const auto&, const auto&) { return 1.0; }
  static auto dy(const auto& x, const auto& y, const auto& z) { return -round((x - z) / y); }
};

struct ieee_remainder {
  static constexpr const char* name = "remainder";
  static auto value(const auto& x, const auto& y) { return remainder(x, y); }
  static auto dx(const auto&, const auto&, const auto&) { return 1.0; }
  static auto dy(const auto& x, const auto& y, const auto& z) { return -round((x - z) / y); }
};

struct floor_of {
  static constexpr const char* name = "floor";
  static auto value(const auto& x) { return floor(x); }
  static auto dx(const auto&, const auto&) { return 0.0; }
};

struct ceiling {
  static constexpr const char* name = "ceil";
  static auto value(const auto& x) { return ceil(x); }
  static auto dx(const auto&, const auto&) { return 0.0; }
};

struct truncated {
  static constexpr const char* name = "trunc";
  static auto value(const auto& x) { return trunc(x); }
  static auto dx(const auto&, const auto&) { return 0.0; }
};

struct rounded {
  static constexpr const char* name = "round";
  static auto value(const auto& x) { return round(x); }
  static auto dx(const auto&, const auto&) { return 0.0; }
};

struct rounded_to_even {
  static constexpr const char* name = "rint";
  static auto value(const auto& x) { return rint(x); }
  static auto dx(const auto&, const auto&) { return 0.0; }
};

/// A comparison on which the program may have branched. An evaluation with another outcome throws branch_change.
template <class Comparison, bool Outcome>
struct branch : Comparison {
  static constexpr bool outcome = Outcome;
};

/// A comparison for the selection that is recorded next, and decided anew at each evaluation.
template <class Comparison>
struct choice : Comparison {
  using compared = Comparison;
};

/// x if the preceding choice holds, else y.
struct selection {
  static constexpr const char* name = "select";
};

/// The table. The number of an operation is its place here.
using table =
    std::tuple<add, subtract, multiply, divide, negate, square_root, cube_root, power, hypotenuse,
               exponential, exponential_2, exponential_minus_1, logarithm, logarithm_2, logarithm_10,
               logarithm_plus_1, sine, cosine, tangent, arc_sine, arc_cosine, arc_tangent, arc_tangent_2,
               hyperbolic_sine, hyperbolic_cosine, hyperbolic_tangent, inverse_hyperbolic_sine,
               inverse_hyperbolic_cosine, inverse_hyperbolic_tangent, error_function,
               complementary_error_function, gamma_function, logarithm_of_gamma, polygamma_function, absolute,
               sign_of, lesser, greater, positive_difference, copy_sign, modulo, ieee_remainder, floor_of,
               ceiling, truncated, rounded, rounded_to_even, branch<less, false>, branch<less, true>,
               branch<less_equal, false>, branch<less_equal, true>, branch<equal, false>, branch<equal, true>,
               choice<less>, choice<less_equal>, choice<equal>, selection>;

inline constexpr std::size_t count = std::tuple_size_v<table>;

/// The place of a row in the table.
template <class Row, std::size_t Place = 0>
constexpr unsigned number_of() {
  if constexpr (std::is_same_v<Row, std::tuple_element_t<Place, table>>) {
    return Place;
  } else {
    return number_of<Row, Place + 1>();
  }
}

template <class Row>
concept comparison = requires {
  Row::holds(0.0, 0.0);
};

template <class Row>
concept branching = comparison<Row> && requires {
  Row::outcome;
};

template <class Row>
concept unary = requires {
  Row::dx(1.0, 1.0);
};

template <class Row>
concept binary = requires {
  Row::dx(1.0, 1.0, 1.0);
};

/// + - * / and the sign.
template <class Row>
inline constexpr bool is_arithmetic = number_of<Row>() <= number_of<negate>();

/// Whether the row passes the derivative of its result on to the operand that it took, and nothing to the other, even if that derivative is
/// infinite.
template <class Row>
inline constexpr bool picks =
    std::is_same_v<Row, lesser> || std::is_same_v<Row, greater> || std::is_same_v<Row, positive_difference>;

/// The value and the derivative of an operation with one operand, over T. `inline` raises g++'s limit for inlining, as for series.
template <class Row, class T>
inline value_with_dx<T> value_and_dx(const T& x) {
  if constexpr (std::is_same_v<T, double> && requires { Row::both(1.0); }) {
    return Row::both(x);
  } else {
    const T z = static_cast<T>(Row::value(x));
    return {z, static_cast<T>(Row::dx(x, z))};
  }
}

}  // namespace corescale::operations
