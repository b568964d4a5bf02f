// SPDX-License-Identifier: Apache-2.0
// Every function of the tape by name, for any number type; derivatives.inc has points and true values.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "corescale/tape/drivers.hpp"

namespace under_test {

using corescale::real;
using corescale::series;

/// All of them, for a test to loop over.
#define FUNCTIONS_UNDER_TEST          \
  FORWARD_1(negate, -x)               \
  FORWARD_1(sqrt, sqrt(x))            \
  FORWARD_1(cbrt, cbrt(x))            \
  FORWARD_1(exp, exp(x))              \
  FORWARD_1(exp2, exp2(x))            \
  FORWARD_1(expm1, expm1(x))          \
  FORWARD_1(log, log(x))              \
  FORWARD_1(log2, log2(x))            \
  FORWARD_1(log10, log10(x))          \
  FORWARD_1(log1p, log1p(x))          \
  FORWARD_1(sin, sin(x))              \
  FORWARD_1(cos, cos(x))              \
  FORWARD_1(tan, tan(x))              \
  FORWARD_1(asin, asin(x))            \
  FORWARD_1(acos, acos(x))            \
  FORWARD_1(atan, atan(x))            \
  FORWARD_1(sinh, sinh(x))            \
  FORWARD_1(cosh, cosh(x))            \
  FORWARD_1(tanh, tanh(x))            \
  FORWARD_1(asinh, asinh(x))          \
  FORWARD_1(acosh, acosh(x))          \
  FORWARD_1(atanh, atanh(x))          \
  FORWARD_1(erf, erf(x))              \
  FORWARD_1(erfc, erfc(x))            \
  FORWARD_1(tgamma, tgamma(x))        \
  FORWARD_1(lgamma, lgamma(x))        \
  FORWARD_1(abs, abs(x))              \
  FORWARD_1(sign, sign(x))            \
  FORWARD_1(floor, floor(x))          \
  FORWARD_1(ceil, ceil(x))            \
  FORWARD_1(trunc, trunc(x))          \
  FORWARD_1(round, round(x))          \
  FORWARD_1(rint, rint(x))            \
  FORWARD_2(add, x + y)               \
  FORWARD_2(subtract, x - y)          \
  FORWARD_2(multiply, x* y)           \
  FORWARD_2(divide, x / y)            \
  FORWARD_2(pow, pow(x, y))           \
  FORWARD_2(hypot, hypot(x, y))       \
  FORWARD_2(atan2, atan2(x, y))       \
  FORWARD_2(fmin, fmin(x, y))         \
  FORWARD_2(fmax, fmax(x, y))         \
  FORWARD_2(fdim, fdim(x, y))         \
  FORWARD_2(copysign, copysign(x, y)) \
  FORWARD_2(fmod, fmod(x, y))         \
  FORWARD_2(remainder, remainder(x, y))

// What a test calls is what a user writes: operators, and functions that argument-dependent lookup finds.
#define FORWARD_1(name, expression)             \
  struct name##_function {                      \
    static constexpr const char* label = #name; \
    auto operator()(const auto& x) const {      \
      using namespace std;                      \
      return expression;                        \
    }                                           \
  };
#define FORWARD_2(name, expression)                       \
  struct name##_function {                                \
    static constexpr const char* label = #name;           \
    auto operator()(const auto& x, const auto& y) const { \
      using namespace std;                                \
      return expression;                                  \
    }                                                     \
  };
FUNCTIONS_UNDER_TEST
#undef FORWARD_1
#undef FORWARD_2

/// A function of one or two numbers over real<T>. What a test does with all of them is compiled once.
template <class T>
using callable = real<T> (*)(std::span<const real<T>>);

template <class Function, class T>
real<T> call(std::span<const real<T>> at) {
  if constexpr (std::is_invocable_v<Function, const real<T>&>) {
    return Function()(at[0]);
  } else {
    return Function()(at[0], at[1]);
  }
}

inline std::vector<double> numbers(std::initializer_list<double> all) { return all; }

/// The line x + t in one variable, to that order.
inline series<double> line_through(double x, std::size_t order, double slope = 1.0) {
  return series<double>::generate(order + 1, [&](std::size_t k, const series<double>&) {
    return k == 0 ? x : k == 1 ? slope : 0.0;
  });
}

}  // namespace under_test
