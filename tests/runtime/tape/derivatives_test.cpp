// SPDX-License-Identifier: Apache-2.0
// Each row of derivatives.inc by every way to the same derivative.
#include <gtest/gtest.h>

#include <array>
#include <set>
#include <span>
#include <tuple>

#include "functions_under_test.hpp"

namespace {

using corescale::gradient_tape;
using corescale::real;
using corescale::series;
using under_test::call;
using under_test::callable;
using under_test::line_through;
using under_test::numbers;

constexpr double accuracy = 1e-12;

void expect_close(double is, double truth, const char* what) {
  EXPECT_NEAR(is, truth, accuracy * std::max(1.0, std::abs(truth))) << what;
}

/// As above; a k-th derivative loses digits as its value grows over that of its terms.
void expect_series(const series<double>& is, const std::vector<double>& truth) {
  double factorial = 1, scale = 1;
  for (const double one : truth) scale = std::max(scale, std::abs(one));
  for (std::size_t k = 0; k < truth.size(); ++k, factorial *= static_cast<double>(k))
    EXPECT_NEAR(is.at(k) * factorial, truth[k], accuracy * scale) << "coefficient " << k;
}

/// A function under test over the number types of these tests; one of two numbers over the first two.
struct tested {
  const char* label;
  callable<double> over_double;
  callable<float> over_float;
  callable<series<double, 1>> over_lines = nullptr;
  callable<real<double>> nested = nullptr;
};

template <class Function>
constexpr tested of = [] {
  tested f{Function::label, call<Function, double>, call<Function, float>};
  if constexpr (std::is_invocable_v<Function, const real<double>&>) {
    f.over_lines = call<Function, series<double, 1>>;
    f.nested = call<Function, real<double>>;
  }
  return f;
}();

void check(const tested& f, double x, const std::vector<double>& truth) {
  SCOPED_TRACE(std::string(f.label) + " at " + std::to_string(x));
  {
    gradient_tape tape;
    const std::array at{tape.variable(x)};
    const real<double> y = f.over_double(at);
    tape.reverse(y);
    expect_close(y.value(), truth[0], "value");
    expect_close(tape.adjoint(at[0]), truth[1], "gradient tape");
  }
  const std::vector<double> there{x}, elsewhere{x + (x < 0 ? -0.01 : 0.01)}, one{1.0};
  auto recorded = corescale::record<double>(f.over_double, elsewhere);
  expect_close(recorded.forward(there)[0], truth[0], "replayed value");
  expect_close(recorded.tangent(one)[0], truth[1], "tangent");
  expect_close(recorded.reverse(one)[0], truth[1], "reverse");
  expect_close(recorded.hessian_vector(there, one, one)[0], truth[2], "Hessian of a recording");
  expect_close(corescale::hessian_vector<double>(f.over_lines, there, one)[0], truth[2], "Hessian by series");
  const std::vector<series<double>> line{line_through(x, truth.size() - 1)};
  expect_series(recorded.taylor(line)[0], truth);
  gradient_tape<double> inner;
  gradient_tape<real<double>> outer;
  const real<double> a = inner.variable(x);
  const std::array b{outer.variable(a)};
  outer.reverse(f.nested(b));
  const real<double> slope = outer.adjoint(b[0]);
  expect_close(slope.value(), truth[1], "nested");
  inner.reverse(slope);
  expect_close(inner.adjoint(a), truth[2], "nested, second");
}

using numbers_of_tape = std::span<const real<double>>;

void check(const tested& f, double x, double y, const std::vector<double>& truth) {
  SCOPED_TRACE(std::string(f.label) + " at " + std::to_string(x) + ", " + std::to_string(y));
  const auto both = f.over_double;
  const auto in_x = [&](numbers_of_tape z) { return both(std::array{z[0], real<double>(y)}); };
  const auto in_y = [&](numbers_of_tape z) { return both(std::array{real<double>(x), z[0]}); };
  const std::vector<double> at{x, y}, near{x * 1.01, y * 1.01}, one{1.0};
  const auto direct = corescale::gradient<double>(both, at);
  expect_close(direct.value, truth[0], "value");
  expect_close(direct.derivatives[0], truth[1], "dx");
  expect_close(direct.derivatives[1], truth[2], "dy");
  auto recorded = corescale::record<double>(both, near);
  expect_close(recorded.forward(at)[0], truth[0], "replayed value");
  const std::vector<double> gradient = recorded.reverse(one), hessian = recorded.hessian(at, one);
  expect_close(gradient[0], truth[1], "replayed dx");
  expect_close(gradient[1], truth[2], "replayed dy");
  expect_close(hessian[0], truth[3], "dxx");
  expect_close(hessian[1], truth[4], "dxy");
  expect_close(hessian[2], truth[4], "dyx");
  expect_close(hessian[3], truth[5], "dyy");
  const std::vector<double> first{x}, second{y};
  const auto of_x = corescale::gradient<double>(in_x, first);
  const auto of_y = corescale::gradient<double>(in_y, second);
  expect_close(of_x.derivatives[0], truth[1], "dx beside a parameter");
  expect_close(of_y.derivatives[0], truth[2], "dy beside a parameter");
  auto replayed_x = corescale::record<double>(in_x, std::vector{near[0]});
  auto replayed_y = corescale::record<double>(in_y, std::vector{near[1]});
  expect_close(replayed_x.forward(first)[0], truth[0], "replayed beside a parameter");
  expect_close(replayed_y.forward(second)[0], truth[0], "replayed beside a parameter");
  expect_close(replayed_x.hessian(first, one)[0], truth[3], "dxx beside a parameter");
  expect_close(replayed_y.hessian(second, one)[0], truth[5], "dyy beside a parameter");
}

TEST(Derivatives, OfOneNumber) {
#define UNARY(name, x, ...) check(of<under_test::name##_function>, x, numbers({__VA_ARGS__}));
#define BINARY(...)
#include "derivatives.inc"
#undef UNARY
#undef BINARY
}

TEST(Derivatives, OfTwoNumbers) {
#define UNARY(...)
#define BINARY(name, x, y, ...) check(of<under_test::name##_function>, x, y, numbers({__VA_ARGS__}));
#include "derivatives.inc"
#undef UNARY
#undef BINARY
}

/// Over float: as over double at the same point, to a float's digits.
void check_float(const tested& f, const std::vector<double>& at) {
  const std::vector<float> x(at.begin(), at.end());
  const auto is = corescale::gradient<float>(f.over_float, std::span<const float>(x));
  const auto truth = corescale::gradient<double>(f.over_double, std::vector<double>(x.begin(), x.end()));
  const auto close = [&](float one, double other) {
    EXPECT_NEAR(one, other, 2e-5 * std::max(1.0, std::abs(other))) << f.label;
  };
  close(is.value, truth.value);
  for (std::size_t j = 0; j < x.size(); ++j) close(is.derivatives[j], truth.derivatives[j]);
}

TEST(Derivatives, OverFloat) {
#define UNARY(name, x, ...) check_float(of<under_test::name##_function>, {x});
#define BINARY(name, x, y, ...) check_float(of<under_test::name##_function>, {x, y});
#include "derivatives.inc"
#undef UNARY
#undef BINARY
}

template <class Row>
std::string kind() {
  return corescale::operations::unary<Row> || corescale::operations::binary<Row> ? Row::name : "";
}

TEST(Derivatives, NoOperationEscapes) {
  std::set<std::string> tested{"polygamma"};  // through tgamma and lgamma
#define UNARY(name, ...) tested.insert(#name);
#define BINARY(name, ...) tested.insert(#name);
#include "derivatives.inc"
#undef UNARY
#undef BINARY
  for (const auto& [sign, word] :
       {std::pair("+", "add"), {"-", "subtract"}, {"*", "multiply"}, {"/", "divide"}})
    if (tested.count(word)) tested.insert(sign);
  if (tested.count("negate")) tested.insert("negative");
  std::apply(
      [&](auto... rows) {
        for (const std::string& name : {kind<decltype(rows)>()...})
          EXPECT_TRUE(name.empty() || tested.count(name)) << name << " has no line in derivatives.inc";
      },
      corescale::operations::table());
}

// Three levels, of several operators each: also a program that must stay quick to compile (operators.apply()).
TEST(Nested, TypesInThreeLevelsHaveThirdDerivatives) {
  gradient_tape<double> first;
  gradient_tape<real<double>> second;
  gradient_tape<real<real<double>>> third;
  const real<double> x = first.variable(0.7);
  const real<real<double>> y = second.variable(x);
  const real<real<real<double>>> z = third.variable(y);
  third.reverse(exp(2.0 * z) + z * z * z - sin(z) / 3.0);
  second.reverse(third.adjoint(z));
  first.reverse(second.adjoint(y));
  expect_close(first.adjoint(x), 8 * std::exp(1.4) + 6 + std::cos(0.7) / 3, "third");
}

}  // namespace
