// SPDX-License-Identifier: Apache-2.0
#include <stan/math/rev/core.hpp>
#include <stan/math/rev/fun/sin.hpp>
#include <stan/math/rev/fun/sqrt.hpp>

#include "contender.hpp"

namespace {

using number = stan::math::var;

template <class Kernel>
std::vector<double> gradient() {
  static const std::vector<double> at = Kernel::at();
  static thread_local stan::math::ChainableStack stack;
  std::vector<number> x(at.begin(), at.end());
  using stan::math::sin, stan::math::sqrt;
  number y = Kernel::value(x.data());
  y.grad();
  std::vector<double> all;
  all.reserve(x.size());
  for (const number& one : x) all.push_back(one.adj());
  stan::math::recover_memory();
  return all;
}

}  // namespace

void bench::add_stan(contenders& all) { BENCH_THREE_KERNELS(all, "Stan", task::gradient, gradient); }
