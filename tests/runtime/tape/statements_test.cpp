// SPDX-License-Identifier: Apache-2.0
// An expression is one statement, whatever its operations and operands are, and every sweep over it agrees.
#include <gtest/gtest.h>

#include <complex>
#include <sstream>

#include "corescale/tape/drivers.hpp"

namespace {

using corescale::gradient_tape;
using corescale::real;
using corescale::series;

/// Each kind of node below each other kind.
struct all_kinds {
  template <class T>
  T operator()(const T& x, const T& y) const {
    using std::exp, std::log, std::pow, std::sin, std::sqrt;
    const T a = ((x * y) * sin(x) - (x / y) * (y / (x + 2.0))) * -(x * y) + (2.0 * x) * (3.0 * y);
    const T b = pow(x * y, 1.5) * pow(x + y, y / 2.0) / (1.0 + exp(-x * y)) - sqrt(x / 2.0) * (2.0 / -y);
    const T c = sin(x * 0.5 - y) / (sin(x) * sin(y) + 3.0) - (x - y) * (x + 1.0) * (2.0 - y) / (x * y);
    return a * b + c * log(a * a + b * b + 1.0) - (-x) * (-(y - a)) * (exp(b * 0.01) * c);
  }
};
const auto of_two = [](auto z) { return all_kinds()(z[0], z[1]); };
const std::vector<double> point{0.7, 1.3}, away{1.1, 0.4}, first_output{1.0};

TEST(Statements, OfAllKindsOfNodesHaveTheDerivativesOfComplexSteps) {
  auto recorded = corescale::record<double>(of_two, away);
  EXPECT_EQ(recorded.value()[0], all_kinds()(away[0], away[1]));
  EXPECT_EQ(recorded.forward(point)[0], all_kinds()(point[0], point[1]));
  const std::vector<double> gradient = corescale::gradient<double>(of_two, point).derivatives;
  EXPECT_EQ(recorded.reverse(first_output), gradient);
  for (std::size_t j = 0; j < 2; ++j) {
    std::complex<double> z[] = {point[0], point[1]};
    z[j] += std::complex<double>(0, 1e-100);
    const double truth = all_kinds()(z[0], z[1]).imag() / 1e-100;
    EXPECT_NEAR(gradient[j], truth, 1e-12 * std::abs(truth));
    const std::vector<double> along{j == 0 ? 1.0 : 0.0, j == 1 ? 1.0 : 0.0};
    EXPECT_NEAR(recorded.tangent(along)[0], truth, 1e-12 * std::abs(truth));
  }
}

TEST(Statements, OfAllKindsOfNodesHaveOneHessian) {
  auto recorded = corescale::record<double>(of_two, away);
  for (std::size_t j = 0; j < 2; ++j) {
    const std::vector<double> along{j == 0 ? 1.0 : 0.0, j == 1 ? 1.0 : 0.0};
    const std::vector<double> by_steps = recorded.hessian_vector(point, along, first_output),
                              by_series = corescale::hessian_vector<double>(of_two, point, along);
    gradient_tape<double> tape;
    const std::vector<real<double>> at = corescale::variables(tape, std::span<const double>(point));
    tape.reverse(corescale::gradient<real<double>>(of_two, at).derivatives[j]);
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_NEAR(by_steps[i], by_series[i], 1e-11 * std::abs(by_series[i]));
      EXPECT_NEAR(by_steps[i], tape.adjoint(at[i]), 1e-11 * std::abs(by_series[i]));
    }
  }
}

TEST(Statements, AnExpressionIsRecordedWhenItBecomesANumber) {
  gradient_tape tape;
  const real<double> x = tape.variable(2), y = tape.variable(3);
  const auto made = [&] {
    return sin(x * y) + real<double>(5) * real<double>(y);
  };  // its operands have ended
  const auto e = made();
  EXPECT_EQ(tape.num_statements(), 2U);
  EXPECT_EQ(e.value(), std::sin(6.0) + 15);
  const real<double> first = e, second = e;
  EXPECT_EQ(tape.num_statements(), 6U);  // and the parameter 5, twice
  tape.reverse(first + second);
  EXPECT_DOUBLE_EQ(tape.adjoint(x), 2 * 3 * std::cos(6.0));
  EXPECT_DOUBLE_EQ(tape.adjoint(y), 2 * (2 * std::cos(6.0) + 5));
}

TEST(Statements, ParametersAmongTheOperandsAreRecordedFirst) {
  const auto f = [](auto x) {
    using number = std::remove_cvref_t<decltype(x[0])>;
    const number c = 0.5, d = 2;
    return number(c * x[0] - x[1] / d + pow(x[0], d) * (c + d) + fmax(c, x[1]) * d);
  };
  const auto truth = [](double x, double y) {
    return std::array{0.5 + 2.5 * 2 * x, -0.5 + (y > 0.5 ? 2 : 0)};
  };
  auto recorded = corescale::record<double>(f, std::vector{-1.0, 0.25});
  for (const std::vector<double>& at : {std::vector{-1.0, 0.25}, {-2.0, 0.75}}) {
    const std::array<double, 2> slopes = truth(at[0], at[1]);
    const std::vector<double> both{slopes[0], slopes[1]};
    recorded.forward(at);
    EXPECT_EQ(recorded.reverse(first_output), both);
    EXPECT_EQ(recorded.tangent(std::vector{1.0, 0.0})[0], both[0]);
    EXPECT_EQ(recorded.tangent(std::vector{0.0, 1.0})[0], both[1]);
    EXPECT_EQ(corescale::gradient<double>(f, at).derivatives, both);
    EXPECT_EQ(recorded.hessian_vector(at, std::vector{1.0, 0.0}, first_output), (std::vector{5.0, 0.0}));
  }
}

TEST(Statements, GreaterAndLesserOfExpressionsBranchAsThoseOfTheStandardLibrary) {
  using std::max, std::min;
  const auto f = [](auto x) { return max(x[0] * 2, x[1]) + min(1.0, x[1] / x[0]) + max(x[0], x[1]); };
  auto recorded = corescale::record<double>(f, std::vector{2.0, 1.0});
  EXPECT_EQ(recorded.value()[0], 4 + 0.5 + 2);
  EXPECT_EQ(recorded.forward(std::vector{4.0, 1.0})[0], 8 + 0.25 + 4);
  EXPECT_THROW(recorded.forward(std::vector{1.0, 4.0}), corescale::branch_change);
}

TEST(Statements, ArePrintedInTheWordsOfTheTableOfOperations) {
  const auto f = [](auto x) {
    const real<double> square = x[0] * x[0] + 1.5, chosen = select_less(square, x[1], x[0], x[1]);
    return x[0] < 2.0 ? real<double>(-chosen / sqrt(square)) : chosen;
  };
  std::ostringstream out;
  out << corescale::record<double>(f, std::vector{1.0, 3.0});
  EXPECT_EQ(out.str(),
            "v3 = ((v1 * v1) + 1.5)\n"
            "v4 = select((v3 < v2), v1, v2)\n"
            "v5 = (v1 < 2)\n"
            "v6 = (negative(v4) / sqrt(v3))\n");
}

TEST(Statements, OverARecordedTypeAreAlsoOneInnerStatement) {
  gradient_tape<double> inner;
  const real<double> a = inner.variable(2), b = inner.variable(3);
  gradient_tape<real<double>> outer;
  const real<real<double>> x = outer.variable(a), y = outer.variable(b);
  const real<real<double>> z = x + 2.0 * (x - y) * y;
  EXPECT_EQ(z.value().value(), -4);
  EXPECT_EQ(outer.num_statements(), 3);
  EXPECT_EQ(inner.num_statements(), 4);  // the statement, and the factor (x - y) that it stores
}

}  // namespace
