// SPDX-License-Identifier: Apache-2.0
// Random programs: derivatives against complex steps and differences, and identities between sweeps.
#include <gtest/gtest.h>

#include <complex>

#include "corescale/tape/drivers.hpp"
#include "programs.hpp"

namespace {

using corescale::real;
using corescale::series;
using programs::program;

constexpr std::size_t inputs = 3;
constexpr int num_programs = 200;
const std::vector<double> one{1.0};

auto smooth(const program& steps) {
  return [&steps](auto x) { return programs::run_smooth(steps, x); };
}

/// check(program, point, random numbers), for random ones.
template <class Check>
void for_programs(Check check) {
  std::mt19937 random(2012);
  for (int i = 0; i < num_programs; ++i) {
    const program steps = programs::draw(random, 40);
    SCOPED_TRACE("program " + std::to_string(i));
    check(steps, programs::draw_point(random, inputs), random);
  }
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

std::vector<double> moved(std::vector<double> x, double h, const std::vector<double>& v) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += h * v[i];
  return x;
}

TEST(RandomPrograms, GradientsAgreeWithComplexSteps) {
  for_programs([](const program& steps, const std::vector<double>& x, std::mt19937&) {
    const auto gradient = corescale::gradient<double>(smooth(steps), x);
    EXPECT_EQ(gradient.value, programs::run_smooth<double>(steps, x));
    for (std::size_t j = 0; j < inputs; ++j) {
      constexpr double h = 1e-100;
      std::vector<std::complex<double>> z(x.begin(), x.end());
      z[j] += std::complex<double>(0, h);
      const double slope = programs::run_smooth<std::complex<double>>(steps, z).imag() / h;
      EXPECT_NEAR(gradient.derivatives[j], slope, 1e-11 * std::max(1.0, std::abs(slope)));
    }
  });
}

TEST(RandomPrograms, ReplayedElsewhereTheyAreTheProgramThere) {
  for_programs([](const program& steps, const std::vector<double>& x, std::mt19937& random) {
    auto recorded = corescale::record<double>(smooth(steps), x);
    const std::vector<double> there = programs::draw_point(random, inputs);
    EXPECT_EQ(recorded.forward(there)[0], programs::run_smooth<double>(steps, there));
    EXPECT_EQ(recorded.reverse(one), corescale::gradient<double>(smooth(steps), there).derivatives);
  });
}

TEST(RandomPrograms, TangentAndReverseAreTransposes) {
  for_programs([](const program& steps, const std::vector<double>& x, std::mt19937& random) {
    const auto f = [&](auto z) {
      using number = std::remove_cvref_t<decltype(z[0])>;
      const number y = programs::run_smooth(steps, z);
      return std::vector<number>{y, y * z[0], sin(z[1])};
    };
    auto recorded = corescale::record<double>(f, x);
    const std::vector<double> v = programs::draw_point(random, inputs), w = programs::draw_point(random, 3);
    const double left = dot(w, recorded.tangent(v)), right = dot(recorded.reverse(w), v);
    EXPECT_NEAR(left, right, 1e-12 * std::max(1.0, std::abs(left)));
  });
}

TEST(RandomPrograms, HessiansAgreeWithDifferencesOfGradients) {
  for_programs([](const program& steps, const std::vector<double>& x, std::mt19937& random) {
    const auto gradient = [&](double h, const std::vector<double>& v) {
      return corescale::gradient<double>(smooth(steps), moved(x, h, v)).derivatives;
    };
    const std::vector<double> v = programs::draw_point(random, inputs);
    const std::vector<double> product = corescale::hessian_vector<double>(smooth(steps), x, v);
    constexpr double h = 1e-3;
    const auto a = gradient(-2 * h, v), b = gradient(-h, v), c = gradient(h, v), d = gradient(2 * h, v);
    double scale = 1;
    for (const double p : product) scale = std::max(scale, std::abs(p));
    for (std::size_t j = 0; j < inputs; ++j)
      EXPECT_NEAR(product[j], (a[j] - 8 * b[j] + 8 * c[j] - d[j]) / (12 * h), 2e-4 * scale);
  });
}

TEST(RandomPrograms, AllWaysToAHessianAgree) {
  for_programs([](const program& steps, const std::vector<double>& x, std::mt19937&) {
    const std::vector<double> hessian = corescale::hessian<double>(smooth(steps), x);
    for (std::size_t j = 0; j < inputs; ++j) {
      std::vector<double> unit(inputs, 0.0);
      unit[j] = 1;
      const std::vector<double> column = corescale::hessian_vector<double>(smooth(steps), x, unit);
      corescale::gradient_tape<double> tape;
      const std::vector<real<double>> at = corescale::variables(tape, std::span<const double>(x));
      const auto slopes = corescale::gradient<real<double>>(smooth(steps), at).derivatives;
      tape.reverse(slopes[j]);
      for (std::size_t i = 0; i < inputs; ++i) {
        const double scale = std::max(1.0, std::abs(hessian[i * inputs + j]));
        EXPECT_NEAR(hessian[i * inputs + j], hessian[j * inputs + i], 1e-10 * scale);
        EXPECT_NEAR(hessian[i * inputs + j], column[i], 1e-10 * scale);
        EXPECT_NEAR(hessian[j * inputs + i], tape.adjoint(at[i]), 1e-10 * scale);
      }
    }
  });
}

series<double> line(double x, double slope, std::size_t order) {
  return series<double>::generate(order + 1, [&](std::size_t k, const series<double>&) {
    return k == 0 ? x : k == 1 ? slope : 0.0;
  });
}

TEST(RandomPrograms, TaylorToOrder10FollowsTheProgram) {
  constexpr std::size_t order = 10;
  for_programs([](const program& steps, const std::vector<double>& x, std::mt19937&) {
    const std::vector<double> v{0.6, -0.3, 0.1};
    std::vector<series<double>> path;
    for (std::size_t j = 0; j < inputs; ++j) path.push_back(line(x[j], v[j], order));
    auto recorded = corescale::record<double>(smooth(steps), x);
    const series<double> y = recorded.taylor(path)[0];
    ASSERT_EQ(y.size(), order + 1);
    // The remainder at t / 2 is 2^-11 of that at t, if all coefficients are right and the next one counts.
    const auto remainder = [&](double t) {
      double sum = 0;
      for (std::size_t k = order + 1; k-- > 0;) sum = sum * t + y[k];
      return std::abs(programs::run_smooth<double>(steps, moved(x, t, v)) - sum);
    };
    double size = 1;
    for (std::size_t k = 0; k <= order; ++k)
      size = std::max(size, std::pow(std::abs(y[k]), 1.0 / static_cast<double>(std::max<std::size_t>(k, 1))));
    const double t = 0.1 / size;
    EXPECT_LE(remainder(t), 1e-8 * std::max(1.0, std::abs(y[0])));
    EXPECT_LE(remainder(t / 4), 1e-13 * std::max(1.0, std::abs(y[0])));
    // What x[i] does to y[k], it does to y[k - i] at x[0].
    std::vector<double> before(inputs, 0.0);
    for (std::size_t k = 0; k <= order; ++k) {
      const std::vector<series<double>> weight{series<double>::generate(
          order + 1, [&](std::size_t i, const series<double>&) { return i == k ? 1.0 : 0.0; })};
      const auto g = recorded.reverse_taylor(weight);
      for (std::size_t j = 0; j < inputs; ++j) {
        if (k > 0) {
          EXPECT_NEAR(g[j][1], before[j], 1e-9 * std::max(1.0, std::abs(before[j])));
        }
        before[j] = g[j][0];
        for (std::size_t later = k + 1; later <= order; ++later) {
          EXPECT_EQ(g[j][later], 0);
        }
      }
    }
  });
}

TEST(Taylor, ClosedFormsToOrder10) {
  using std::pow;
  struct form {
    const char* name;
    series<double> (*function)(const series<double>&);
    double at;
    double (*coefficient)(int);
  };
  const form forms[] = {
      {"exp", [](const series<double>& x) { return exp(x); }, 0,
       [](int k) { return 1 / std::tgamma(k + 1); }},
      {"1 / (1 - x)", [](const series<double>& x) { return 1.0 / (1.0 - x); }, 0, [](int) { return 1.0; }},
      {"log1p", [](const series<double>& x) { return log1p(x); }, 0,
       [](int k) { return k == 0 ? 0 : (k % 2 ? 1.0 : -1.0) / k; }},
      {"atan", [](const series<double>& x) { return atan(x); }, 0,
       [](int k) { return k % 2 == 0 ? 0 : (k % 4 == 1 ? 1.0 : -1.0) / k; }},
      {"cos", [](const series<double>& x) { return cos(x); }, 0,
       [](int k) { return k % 2 ? 0 : (k % 4 ? -1.0 : 1.0) / std::tgamma(k + 1); }},
      {"cosh", [](const series<double>& x) { return cosh(x); }, 0,
       [](int k) { return k % 2 ? 0 : 1 / std::tgamma(k + 1); }},
      {"pow(x, -2)", [](const series<double>& x) { return pow(x, -2.0); }, 1,
       [](int k) { return (k % 2 ? -1.0 : 1.0) * (k + 1); }},
      {"pow(x, 3) at 0", [](const series<double>& x) { return pow(x, 3.0); }, 0,
       [](int k) { return k == 3 ? 1.0 : 0.0; }},
  };
  for (const form& one_form : forms) {
    const series<double> y = one_form.function(line(one_form.at, 1, 10));
    for (int k = 0; k <= 10; ++k)
      EXPECT_NEAR(y.at(static_cast<std::size_t>(k)), one_form.coefficient(k), 1e-13)
          << one_form.name << ' ' << k;
  }
}

}  // namespace
