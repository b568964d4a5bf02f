// SPDX-License-Identifier: Apache-2.0
#include "corescale/tape/gradient_tape.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "corescale/tape/drivers.hpp"

namespace {

using corescale::gradient_tape;
using corescale::real;
using corescale::tape_misuse;

TEST(GradientTape, GivesTheDerivativeOfAProduct) {
  gradient_tape tape;
  const real<double> x = tape.variable(2.0), y = x * sin(x);
  tape.reverse(y);
  EXPECT_DOUBLE_EQ(y.value(), 2 * std::sin(2.0));
  EXPECT_DOUBLE_EQ(tape.adjoint(x), std::sin(2.0) + 2 * std::cos(2.0));
}

TEST(GradientTape, ParametersAreNotRecorded) {
  gradient_tape tape;
  const real<double> x = tape.variable(2.0), c = 3.0;
  const std::size_t before = tape.num_statements();
  const real<double> d = c * c + sin(c);
  EXPECT_EQ(tape.num_statements(), before);
  EXPECT_FALSE(d.is_variable());
  tape.reverse(d * x);
  EXPECT_DOUBLE_EQ(tape.adjoint(x), d.value());
  EXPECT_EQ(tape.adjoint(c), 0);
}

TEST(GradientTape, GrowsOverManyChunks) {
  gradient_tape tape;
  const real<double> x = tape.variable(1.0);
  for (const int n : {100, 1000, 300'000}) {
    real<double> sum = 0;
    for (int i = 0; i < n; ++i) sum += i * x;
    tape.reverse(sum);
    EXPECT_EQ(tape.adjoint(x), 0.5 * n * (n - 1.0));
  }
}

/// A step that is recorded as one or two operations, of each kind that a sweep back tells apart.
template <class T>
T step(int kind, const T& y, const T& x, auto variable) {
  switch (kind) {
    case 0:
      return 0.5 * (y + x);
    case 1:
      return x - y;
    case 2:
      return -y;
    case 3:
      return y + 1.0;
    case 4:
      return 2.0 - y;
    case 5:
      return variable(0.5) * y;
    case 6:
      return sin(y);
    case 7:
      return fmax(x * 0.1, y);
    default:
      return y / (1.0 + y * y);
  }
}

TEST(GradientTape, GoesBackFromAnyOperationOfAnyChunk) {
  using line = corescale::series<double, 1>;
  constexpr int kinds = 9, many = 5000;  // some chunks
  for (int offset = 0; offset < kinds; ++offset) {
    gradient_tape tape;
    const real<double> x = tape.variable(0.7);
    line along(0.7);
    along[1] = 1.0;
    real<double> y = x;
    line truth = along;
    for (int i = 0; i < many; ++i) {
      const int kind = (i + offset) % kinds;
      y = step(kind, y, x, [&](double value) { return tape.variable(value); });
      truth = step(kind, truth, along, [](double value) { return line(value); });
      if (i % 101 != 0) continue;
      tape.reverse(y);
      ASSERT_NEAR(tape.adjoint(x), truth[1], 1e-12) << "kind " << kind << ", step " << i;
    }
    EXPECT_NEAR(y.value(), truth[0], 1e-12);
  }
}

TEST(GradientTape, IsUsedAgainAfterClear) {
  gradient_tape tape;
  for (int repeat = 0; repeat < 3; ++repeat) {
    tape.clear();
    const real<double> x = tape.variable(repeat);
    real<double> y = 1;
    for (int i = 0; i < 10'000; ++i) y += x;
    tape.reverse(y);
    EXPECT_EQ(tape.adjoint(x), 10'000);
    EXPECT_EQ(tape.num_statements(), 10'002u);
  }
}

TEST(GradientTape, ANestedRecordingIsRefused) {
  gradient_tape tape;
  EXPECT_THROW(gradient_tape<double>(), tape_misuse);
  EXPECT_NO_THROW(gradient_tape<float>());
  EXPECT_NO_THROW((void)tape.variable(1.0));
}

TEST(GradientTape, AVariableOfADeadTapeIsRefused) {
  real<double> dead;
  {
    gradient_tape tape;
    dead = tape.variable(1.0);
  }
  EXPECT_THROW((void)real<double>(dead * 2), tape_misuse);
  gradient_tape tape;
  const real<double> x = tape.variable(1.0);
  EXPECT_THROW((void)real<double>(dead * x), tape_misuse);
  EXPECT_THROW((void)real<double>(x - dead), tape_misuse);
  EXPECT_THROW((void)real<double>(x + 2.0 * sin(dead)), tape_misuse);
  EXPECT_THROW((void)(dead < x), tape_misuse);
  EXPECT_THROW(tape.reverse(dead), tape_misuse);
  EXPECT_THROW((void)tape.adjoint(dead), tape_misuse);
  EXPECT_EQ(tape.num_statements(), 1u);
}

TEST(Function, IsEvaluatedAtNewPoints) {
  const double x[] = {2.0, 3.0};
  auto f = corescale::record<double>([](auto v) { return v[0] * exp(v[1]) / 2; }, x);
  const double at[] = {5.0, 0.5}, one[] = {1.0}, along[] = {0.0, 1.0};
  EXPECT_DOUBLE_EQ(f.forward(at)[0], 2.5 * std::exp(0.5));
  EXPECT_DOUBLE_EQ(f.tangent(along)[0], 2.5 * std::exp(0.5));
  EXPECT_DOUBLE_EQ(f.reverse(one)[0], 0.5 * std::exp(0.5));
}

TEST(Function, Hessians) {
  const double x[] = {2.0, 3.0}, v[] = {1.0, -1.0}, one[] = {1.0};
  const auto f = [](auto z) { return z[0] * z[0] * sin(z[1]) + exp(z[0] * z[1]) + pow(z[1], z[0]); };
  auto recorded = corescale::record<double>(f, x);
  const auto a = corescale::hessian_vector<double>(f, x, v), b = recorded.hessian_vector(x, v, one);
  const auto h = corescale::hessian<double>(f, x);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_NEAR(a[i], b[i], 1e-9);
    EXPECT_NEAR(a[i], h[2 * i] - h[2 * i + 1], 1e-9);
  }
  using series = corescale::series<double>;
  const series line[] = {
      series::generate(4, [](std::size_t k, auto&) { return k == 0   ? 2.0
                                                            : k == 1 ? 1.0
                                                                     : 0.0; }),
      series(3.0)};
  const auto y = recorded.taylor(line);
  EXPECT_NEAR(y[0][2] * 2, h[0], 1e-9);
  const series weight[] = {series::generate(4, [](std::size_t k, auto&) { return k == 1 ? 1.0 : 0.0; })};
  const auto g = recorded.reverse_taylor(weight);
  EXPECT_NEAR(g[0][0], h[0], 1e-9);
  EXPECT_NEAR(g[1][0], h[1], 1e-9);
}

TEST(Function, TheHessianOfAPowerWithExponentZeroIsSymmetric) {
  const double x[] = {2.0, 0.0}, one[] = {1.0};
  const auto f = [](auto z) { return pow(z[0], z[1]); };
  const std::vector<double> truth{0.0, 0.5, 0.5, std::log(2.0) * std::log(2.0)};
  const auto by_series = corescale::hessian<double>(f, x);
  const auto recorded = corescale::record<double>(f, x).hessian(x, one);
  for (std::size_t k = 0; k < truth.size(); ++k) {
    EXPECT_NEAR(by_series[k], truth[k], 1e-12);
    EXPECT_NEAR(recorded[k], truth[k], 1e-12);
  }
}

TEST(Function, ASeriesShorterThanTheOthersGoesOnWithZeros) {
  using series = corescale::series<double>;
  const double at[] = {1.0, 0.0};
  auto recorded = corescale::record<double>([](auto z) { return z[0] * z[0] + sin(z[0]) + 0.0 * z[1]; }, at);
  const auto ones = [](std::size_t size) {
    return series::generate(size, [](std::size_t k, auto&) { return k < 2 ? 1.0 : 0.0; });
  };
  const series line[] = {ones(2), ones(4)};
  const series y = recorded.taylor(line)[0];  // (1 + t)^2 + sin(1 + t)
  EXPECT_NEAR(y[0], 1 + std::sin(1.0), 1e-12);
  EXPECT_NEAR(y[1], 2 + std::cos(1.0), 1e-12);
  EXPECT_NEAR(y[2], 1 - std::sin(1.0) / 2, 1e-12);
  EXPECT_NEAR(y[3], -std::cos(1.0) / 6, 1e-12);
}

TEST(Function, AnAdjointOfZeroWithASlopeIsHandedOn) {
  const double at[] = {1.0}, v[] = {1.0};
  const auto f = [](auto x) { return (x[0] - 1.0) * (x[0] - 1.0) * 3.0; };
  EXPECT_EQ(corescale::hessian_vector<double>(f, at, v)[0], 6);
  EXPECT_EQ(corescale::hessian<double>(f, at)[0], 6);
  gradient_tape<double> inner;
  const std::vector<real<double>> x = corescale::variables(inner, std::span<const double>(at));
  inner.reverse(corescale::gradient<real<double>>(f, x).derivatives[0]);
  EXPECT_EQ(inner.adjoint(x[0]), 6);
}

TEST(Function, HasAllDriversOverFloat) {
  const float x[] = {0.5F}, one[] = {1.0F};
  const auto f = [](auto v) {
    return sqrt(v[0]) * cbrt(v[0]) * sin(v[0]) + pow(v[0], 2.5F) + exp2(v[0]) + lgamma(v[0]);
  };
  const double at[] = {0.5}, unit[] = {1.0};
  auto single = corescale::record<float>(f, x);
  auto twice = corescale::record<double>(f, at);
  EXPECT_NEAR(single.hessian(x, one)[0], twice.hessian(at, unit)[0], 1e-4);
  EXPECT_NEAR(corescale::hessian_vector<float>(f, x, one)[0], twice.hessian(at, unit)[0], 1e-4);
  const auto line = [](auto base) {
    using series = corescale::series<decltype(base)>;
    return series::generate(4, [](std::size_t k, const auto&) {
      return static_cast<decltype(base)>(k == 0 ? 0.5 : k == 1 ? 1.0 : 0.0);
    });
  };
  const auto of_float = single.taylor(std::vector{line(0.0F)})[0];
  const auto of_double = twice.taylor(std::vector{line(0.0)})[0];
  for (std::size_t k = 0; k < 4; ++k)
    EXPECT_NEAR(of_float[k], of_double[k], 1e-4 * (1 + std::abs(of_double[k])));
}

TEST(Function, ASeriesHasACoefficientAtLeast) {
  const auto none = corescale::series<double>::generate(0, [](std::size_t, const auto&) { return 2.0; });
  EXPECT_EQ(none.size(), 1U);
  auto square = corescale::record<double>([](auto v) { return v[0] * v[0]; }, std::vector{1.0});
  EXPECT_EQ(square.taylor(std::vector{none})[0][0], 4);
}

TEST(Function, ANumberMultipliesEachCoefficientOnly) {
  const double inf = std::numeric_limits<double>::infinity();
  const auto line = [](double a, double b) {
    return corescale::series<double>::generate(2, [=](std::size_t k, const auto&) { return k == 0 ? a : b; });
  };
  const double at[] = {1.0}, one[] = {1.0};
  auto f = corescale::record<double>([](auto v) { return 2.0 * v[0] - (1.0 - v[0]) * 3.0; }, at);
  const auto y = f.taylor(std::vector{line(inf, 1.0)})[0];
  EXPECT_EQ(y[0], inf);
  EXPECT_EQ(y[1], 5);  // not inf times a coefficient of 0
  EXPECT_EQ(f.reverse_taylor(std::vector{line(0.0, 1.0)})[0][1], 5);
  EXPECT_EQ(f.hessian(at, one)[0], 0);
}

TEST(GradientTape, AnAdjointBeforeASweepBackIsRefused) {
  gradient_tape tape;
  const real<double> x = tape.variable(1.0), y = sin(x);
  EXPECT_THROW((void)tape.adjoint(x), tape_misuse);
  tape.reverse(y);
  EXPECT_DOUBLE_EQ(tape.adjoint(x), std::cos(1.0));
  tape.clear();
  const real<double> again = tape.variable(1.0);
  EXPECT_THROW((void)tape.adjoint(again), tape_misuse);
  tape.reverse(real<double>(3.0));
  EXPECT_EQ(tape.adjoint(again), 0);
}

}  // namespace
