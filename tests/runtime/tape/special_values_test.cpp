// SPDX-License-Identifier: Apache-2.0
// NaN, infinities, signed zeros and branch points: values are those of <cmath> to the bit, recorded, replayed, and replayed along a
// line: else a comparison would go another way there than it did when it was recorded.
#include <gtest/gtest.h>

#include <bit>
#include <limits>

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
double plain(Function f, double x) {
  if constexpr (std::string_view(Function::label) == "sign") {
    return corescale::special::sign(x);
  } else {
    return f(x);
  }
}

template <class Function>
void check(Function f) {
  auto recorded = corescale::record<double>([&](auto z) { return f(z[0]); }, std::vector{0.75});
  for (const double x : points) {
    gradient_tape tape;
    EXPECT_TRUE(same(f(tape.variable(x)).value(), plain(f, x))) << Function::label << " at " << x;
    EXPECT_TRUE(same(recorded.forward(std::vector{x})[0], plain(f, x)))
        << Function::label << " replayed at " << x;
    EXPECT_TRUE(same(recorded.taylor(std::vector{under_test::line_through(x, 1)})[0][0], plain(f, x)))
        << Function::label << " along a line from " << x;
  }
}

template <class Function>
void check_2(Function f) {
  auto recorded = corescale::record<double>([&](auto z) { return f(z[0], z[1]); }, std::vector{0.75, 1.5});
  for (const double x : points)
    for (const double y : points) {
      const bool any_zero = std::string_view(Function::label).starts_with("fm") && x == y;
      gradient_tape tape;
      EXPECT_TRUE(same(f(tape.variable(x), tape.variable(y)).value(), f(x, y), any_zero))
          << Function::label << ' ' << x << ' ' << y;
      EXPECT_TRUE(same(recorded.forward(std::vector{x, y})[0], f(x, y), any_zero))
          << Function::label << ' ' << x << ' ' << y;
      const std::vector lines{under_test::line_through(x, 1), under_test::line_through(y, 1)};
      EXPECT_TRUE(same(recorded.taylor(lines)[0][0], f(x, y), any_zero))
          << Function::label << " along a line from " << x << ' ' << y;
    }
}

#define FORWARD_1(name, ...) \
  TEST(SpecialValues, name) { check(under_test::name##_function()); }
#define FORWARD_2(name, ...) \
  TEST(SpecialValues, name) { check_2(under_test::name##_function()); }
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

}  // namespace
