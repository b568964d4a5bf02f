// SPDX-License-Identifier: Apache-2.0
// Over intervals that round outwards, values and derivatives contain the truth.
#include "corescale/tape/interval.hpp"

#include <gtest/gtest.h>

#include "corescale/tape/drivers.hpp"

namespace {

namespace lib = boost::numeric::interval_lib;
using bounds = boost::numeric::interval<
    double, lib::policies<lib::save_state<lib::rounded_transc_std<double>>, lib::checking_base<double>>>;
using corescale::gradient_tape;
using corescale::real;

template <class T>
T formula(const T& x, const T& y) {
  return sin(x) * exp(y) / (x * x + 1.0) - log(y) * sqrt(x + 3.0) + atan(y * 0.5) + abs(x - 5.0);
}

/// Of the formula over Base at (x, y): its value and both derivatives.
template <class Base>
std::array<Base, 3> answers(const Base& x, const Base& y) {
  gradient_tape<Base> tape;
  const real<Base> a = tape.variable(x), b = tape.variable(y), z = formula(a, b);
  tape.reverse(z);
  return {z.value(), tape.adjoint(a), tape.adjoint(b)};
}

TEST(Interval, ContainsTheTruthAtAPointAndIsNarrow) {
  const std::array<bounds, 3> at = answers(bounds(0.7), bounds(1.3));
  const std::array<double, 3> truth = answers(0.7, 1.3);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_LE(at[i].lower() - 1e-15, truth[i]);
    EXPECT_GE(at[i].upper() + 1e-15, truth[i]);
    EXPECT_LT(width(at[i]), 1e-13);
  }
}

TEST(Interval, ContainsEveryDerivativeOfARange) {
  const std::array<bounds, 3> range = answers(bounds(0.5, 0.9), bounds(1.2, 1.4));
  for (int i = 0; i <= 20; ++i)
    for (int j = 0; j <= 20; ++j) {
      const std::array<double, 3> truth = answers(0.5 + 0.02 * i, 1.2 + 0.01 * j);
      for (std::size_t k = 0; k < 3; ++k) EXPECT_TRUE(in(truth[k], range[k])) << k;
    }
}

/// The last digit, which the C library's functions do not round in the direction asked for.
const bounds digit(-1e-15, 1e-15);

/// The value and the derivative of f at every point of a range, and at its ends.
template <class Function>
void contains(const char* name, Function f, double low, double high) {
  gradient_tape<bounds> tape;
  const real<bounds> x = tape.variable(bounds(low, high)), y = f(x);
  tape.reverse(y);
  for (int i = 0; i <= 10; ++i) {
    const double at = low + (high - low) * i / 10;
    const auto truth = corescale::derivative<double>(f, at);
    EXPECT_TRUE(in(truth.value, y.value() + digit)) << name << ' ' << at;
    EXPECT_TRUE(in(truth.derivatives, tape.adjoint(x) + digit)) << name << ' ' << at;
  }
}

TEST(Interval, ContainsTheTruthOfEveryFunctionThatItHas) {
#define CONTAINS(f, low, high) \
  contains(                    \
      #f, [](auto x) { return f(x); }, low, high)
  CONTAINS(sqrt, 0.5, 0.7), CONTAINS(exp, -1.0, 0.5), CONTAINS(log, 0.5, 2.0), CONTAINS(sin, 0.4, 0.9);
  CONTAINS(cos, 0.4, 0.9), CONTAINS(tan, 0.4, 0.9), CONTAINS(asin, -0.4, 0.6), CONTAINS(acos, -0.4, 0.6);
  CONTAINS(atan, -2.0, 3.0), CONTAINS(sinh, -1.0, 0.5), CONTAINS(cosh, 0.5, 1.0), CONTAINS(tanh, 0.4, 0.9);
  CONTAINS(asinh, -1.0, 2.0), CONTAINS(acosh, 1.5, 3.0), CONTAINS(atanh, -0.5, 0.5),
      CONTAINS(abs, -2.0, -1.0);
#undef CONTAINS
  contains(
      "x / (1 - x)", [](auto x) { return x / (1.0 - x) - x * -x; }, 2.0, 3.0);
}

TEST(Interval, AComparisonThatCannotBeDecidedSaysSo) {
  gradient_tape<bounds> tape;
  const real<bounds> x = tape.variable(bounds(-1, 1));
  EXPECT_THROW((void)(x < bounds(0.5)), lib::comparison_error);
  EXPECT_TRUE(x < bounds(2.0));
  tape.reverse(abs(x));
  EXPECT_TRUE(in(-1.0, tape.adjoint(x)) && in(1.0, tape.adjoint(x)));
}

TEST(Interval, ARecordedFunctionIsEvaluatedOverOtherRanges) {
  const std::array first{bounds(2.0), bounds(3.0)}, range{bounds(0.5, 0.9), bounds(1.2, 1.4)};
  auto recorded = corescale::record<bounds>([](auto z) { return formula(z[0], z[1]); }, first);
  const std::array<bounds, 3> truth = answers(range[0], range[1]);
  const bounds value = recorded.forward(range)[0];
  const std::vector<bounds> jacobian = recorded.jacobian(range),
                            tangent = recorded.tangent(std::array{bounds(1.0), bounds(0.0)});
  EXPECT_TRUE(value.lower() == truth[0].lower() && value.upper() == truth[0].upper());
  EXPECT_TRUE(subset(truth[1], jacobian[0] + digit) && subset(truth[2], jacobian[1] + digit));
  EXPECT_TRUE(overlap(tangent[0], truth[1]) && width(tangent[0]) < 2 * width(truth[1]));
}

}  // namespace
