// SPDX-License-Identifier: Apache-2.0
// The lowest point of Rosenbrock's valley, by Newton's method with a gradient and a Hessian from one recording.
#include <corescale/tape/drivers.hpp>
#include <cstdio>
#include <span>
#include <vector>

template <class Number>
Number valley(std::span<const Number> x) {
  const Number a = 1 - x[0], b = x[1] - x[0] * x[0];
  return a * a + 100 * b * b;
}

int main() {
  std::vector<double> x{-1.2, 1.0};
  const std::vector<double> weight{1.0};
  const auto f = [](auto at) { return valley(at); };
  corescale::function<double> recorded = corescale::record<double>(f, x);
  for (int step = 0; step < 6; ++step) {
    const double height = recorded.forward(x)[0];
    std::printf("%d: f(%9.6f, %9.6f) = %.3e\n", step, x[0], x[1], height);
    const std::vector<double> g = recorded.reverse(weight), h = recorded.hessian(x, weight);
    const double determinant = h[0] * h[3] - h[1] * h[2];
    x[0] -= (h[3] * g[0] - h[1] * g[1]) / determinant;
    x[1] -= (h[0] * g[1] - h[2] * g[0]) / determinant;
  }
  corescale::gradient_tape tape;  // for derivatives at one point, once: without a function
  const corescale::real<double> t = tape.variable(2), y = t * sin(t);
  tape.reverse(y);
  std::printf("the derivative of t sin(t) at 2 is %.6f\n", tape.adjoint(t));
}
