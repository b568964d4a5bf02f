// SPDX-License-Identifier: Apache-2.0
// NaN, infinities, signed zeros and branch points: values are those of <cmath> to the bit, recorded, replayed, and replayed along a
// line: else a comparison would go another way there than it did when it was recorded.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <limits>
#include <string>

#include "functions_under_test.hpp"

namespace {

using corescale::gradient_tape;
using corescale::real;

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();
const std::vector<double> points{0.0,   -0.0,   1.0,    -1.0,    0.5, -2.5, 3.0,
                                 1e300, -1e300, 5e-324, -5e-324, inf, -inf, nan_value};

/// C leaves to the library which zero fmin(0, -0) gives.
bool same(double a, double b, bool any_zero = false) {
  if (any_zero && a == 0 && b == 0) return true;
  return (a != a && b != b) || std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

/// What <cmath> says; it has no sign().
template <class Function>
double plain(double x) {
  if constexpr (std::string_view(Function::label) == "sign") {
    return corescale::special::sign(x);
  } else {
    return Function()(x);
  }
}

template <class Function>
double plain_2(double x, double y) {
  return Function()(x, y);
}

void check(const std::string& label, under_test::callable<double> f, double (*truth)(double)) {
  auto recorded = corescale::record<double>(f, std::vector{0.75});
  for (const double x : points) {
    gradient_tape tape;
    EXPECT_TRUE(same(f(std::array{tape.variable(x)}).value(), truth(x))) << label << " at " << x;
    EXPECT_TRUE(same(recorded.forward(std::vector{x})[0], truth(x))) << label << " replayed at " << x;
    EXPECT_TRUE(same(recorded.taylor(std::vector{under_test::line_through(x, 1)})[0][0], truth(x)))
        << label << " along a line from " << x;
  }
}

void check_2(const std::string& label, under_test::callable<double> f, double (*truth)(double, double)) {
  auto recorded = corescale::record<double>(f, std::vector{0.75, 1.5});
  for (const double x : points)
    for (const double y : points) {
      const bool any_zero = label.starts_with("fm") && x == y;
      gradient_tape tape;
      const std::array at{tape.variable(x), tape.variable(y)};
      EXPECT_TRUE(same(f(at).value(), truth(x, y), any_zero)) << label << ' ' << x << ' ' << y;
      EXPECT_TRUE(same(recorded.forward(std::vector{x, y})[0], truth(x, y), any_zero))
          << label << ' ' << x << ' ' << y;
      const std::vector lines{under_test::line_through(x, 1), under_test::line_through(y, 1)};
      EXPECT_TRUE(same(recorded.taylor(lines)[0][0], truth(x, y), any_zero))
          << label << " along a line from " << x << ' ' << y;
    }
}

#define FORWARD_1(name, ...)                                                                                 \
  TEST(SpecialValues, name) {                                                                                \
    check(#name, under_test::call<under_test::name##_function, double>, plain<under_test::name##_function>); \
  }
#define FORWARD_2(name, ...)                                              \
  TEST(SpecialValues, name) {                                             \
    check_2(#name, under_test::call<under_test::name##_function, double>, \
            plain_2<under_test::name##_function>);                        \
  }
FUNCTIONS_UNDER_TEST
#undef FORWARD_1
#undef FORWARD_2

/// The derivative of f at x.
template <class Function>
double slope(Function f, double x) {
  return corescale::derivative<double>(f, x).derivatives;
}

TEST(BranchPoints, DerivativesAreThoseOfTheFormulas) {
  EXPECT_EQ(slope([](auto x) { return abs(x); }, 0.0), 0);
  EXPECT_EQ(slope([](auto x) { return sqrt(x); }, 0.0), inf);
  EXPECT_EQ(slope([](auto x) { return log(x); }, 0.0), inf);
  EXPECT_EQ(slope([](auto x) { return asin(x); }, 1.0), inf);
  EXPECT_EQ(slope([](auto x) { return pow(x, 2.0); }, 0.0), 0);
  EXPECT_EQ(slope([](auto x) { return pow(x, 1.0); }, 0.0), 1);
  EXPECT_EQ(slope([](auto x) { return pow(x, 0.0); }, 0.0), 0);
  EXPECT_EQ(slope([](auto x) { return pow(0.0, x); }, 2.0), 0);
  EXPECT_EQ(slope([](auto x) { return hypot(x, 0.0); }, 0.0), 0);
  EXPECT_EQ(slope([](auto x) { return fmax(x, nan_value); }, 1.0), 1);
  EXPECT_EQ(slope([](auto x) { return tanh(x); }, 800.0), 0);
  EXPECT_EQ(slope([](auto x) { return tanh(x); }, -800.0), 0);
  EXPECT_TRUE(std::isnan(slope([](auto x) { return sin(x); }, inf)));
  EXPECT_TRUE(std::isnan(slope([](auto x) { return x * 2; }, nan_value)) == false);
}

TEST(BranchPoints, WhatIsNotSelectedAddsNothing) {
  const auto f = [](auto x) { return select_less(x, real<double>(1.0), 3 * x, sqrt(x - 1)); };
  EXPECT_EQ(slope(f, 0.5), 3);
  EXPECT_EQ(slope([](auto x) { return select_less(x, real<double>(0.0), log(x), x * x); }, 0.0), 0);
}

TEST(BranchPoints, WhatIsNotTakenAddsNothingEvenToAnInfiniteDerivative) {
  const auto beside = [](auto x) { return select_less(real<double>(0.0), x[0], sqrt(x[0]), 2 * x[0]); };
  auto recorded = corescale::record<double>(beside, std::vector{0.0});
  EXPECT_EQ(recorded.reverse(std::vector{1.0}), std::vector{2.0});
  EXPECT_EQ(recorded.tangent(std::vector{1.0}), std::vector{2.0});
  const auto lesser = [](auto x) {
    return sqrt(fmin(x[0], x[1])) + sqrt(select_less(x[0], x[1], x[0], x[1]));
  };
  auto under_root = corescale::record<double>(lesser, std::vector{0.0, 4.0});
  EXPECT_EQ(under_root.reverse(std::vector{1.0}), (std::vector{inf, 0.0}));
  EXPECT_EQ(under_root.tangent(std::vector{0.0, 1.0}), std::vector{0.0});
  EXPECT_EQ(corescale::gradient<double>(lesser, std::vector{0.0, 4.0}).derivatives, (std::vector{inf, 0.0}));
}

TEST(BranchPoints, ARecordedDerivativeDecidesAnew) {
  using nested = real<real<double>>;
  const auto slope_of = [](auto f) {
    corescale::gradient_tape tape;
    const real<double> x = tape.variable(1.0);
    return tape.finish(corescale::derivative<real<double>>(f, x).derivatives);
  };
  const std::vector three{3.0}, zero{0.0};
  auto selected = slope_of([](nested v) { return select_less(v, nested(2.0), v * v, v * v * v); });
  EXPECT_EQ(selected.value()[0], 2);
  EXPECT_EQ(selected.forward(three)[0], 27);
  EXPECT_EQ(selected.reverse(std::vector{1.0})[0], 18);
  auto greater = slope_of([](nested v) { return fmax(v * v, nested(4.0)) + fmin(v, nested(2.0)) * 5.0; });
  EXPECT_EQ(greater.value()[0], 5);
  EXPECT_EQ(greater.forward(three)[0], 6);
  EXPECT_EQ(slope_of([](nested v) { return fdim(v, nested(2.0)) * v; }).forward(three)[0], 4);
  EXPECT_EQ(slope_of([](nested v) { return pow(v, nested(2.0)); }).forward(zero)[0], 0);
}

TEST(BranchPoints, ChoicesByAnInnerVariableAreDecidedAnew) {
  using nested = real<real<double>>;
  corescale::gradient_tape tape;
  const real<double> x = tape.variable(1.0);
  auto f = tape.finish(select_less(nested(x), nested(2.0), nested(x * x), nested(x)).value());
  EXPECT_EQ(f.value()[0], 1);
  EXPECT_EQ(f.forward(std::vector{3.0})[0], 3);
}

TEST(SpecialValues, PowersOfTwoThatBaseCannotHold) {
  const auto scaled = [](double x, int power) { return ldexp(real<double>(x), power).value(); };
  for (const double x : {1e-300, 1e300, 4.9406564584124654e-324, 1.7e308, -0.0, 0.1, -3.0})
    for (const int power : {-5000, -2097, -1100, -1074, -1060, -1, 0, 1, 60, 1023, 1024, 1100, 2097, 5000})
      EXPECT_EQ(scaled(x, power), std::ldexp(x, power)) << x << ' ' << power;
  EXPECT_EQ(ldexp(real<float>(1e-30F), 150).value(), std::ldexp(1e-30F, 150));
  EXPECT_EQ(slope([](auto x) { return ldexp(x, 3); }, 1.0), 8);
}

TEST(SpecialValues, DerivativesBesideThePolesOfGammaAndFarOut) {
  const auto near = [](double is, double truth) { EXPECT_NEAR(is / truth, 1, 2e-14) << is << ' ' << truth; };
  // by mpmath 1.3, 30 digits, at the nearest double
  near(slope([](auto x) { return lgamma(x); }, -1e-10), 9999999999.42278433526771);
  near(slope([](auto x) { return lgamma(x); }, -1e-20), 1e20);
  near(slope([](auto x) { return tgamma(x); }, -1e-20), -1e40);
  near(corescale::special::polygamma(1, -1e-20), 1e40);
  near(corescale::special::polygamma(1, -0x1p-17), 0x1p34 + 1.644952408969953);
  near(corescale::special::polygamma(0, -2 - 0x1p-23), 0x1p23 + 0.92278398999543);
  EXPECT_EQ(corescale::special::polygamma(1, inf), 0);
  near(slope([](auto x) { return asinh(x); }, 1e200), 1e-200);
  near(slope([](auto x) { return acosh(x); }, 1e200), 1e-200);
}

}  // namespace
