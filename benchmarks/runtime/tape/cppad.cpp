// SPDX-License-Identifier: Apache-2.0
#include <cppad/cppad.hpp>

#include "contender.hpp"

namespace {

using number = CppAD::AD<double>;

template <class Kernel>
CppAD::ADFun<double> recorded(const std::vector<double>& at) {
  std::vector<number> x(at.begin(), at.end());
  CppAD::Independent(x);
  const std::vector<number> y{Kernel::value(x.data())};
  return CppAD::ADFun<double>(x, y);
}

template <class Kernel>
std::vector<double> gradient() {
  static const std::vector<double> at = Kernel::at(), one{1.0};
  CppAD::ADFun<double> f = recorded<Kernel>(at);
  return f.Reverse(1, one);
}

template <class Kernel>
std::vector<double> replay() {
  static const std::vector<double> at = Kernel::at(), one{1.0};
  static CppAD::ADFun<double> f = recorded<Kernel>(at);
  f.Forward(0, at);
  return f.Reverse(1, one);
}

template <class Kernel>
std::vector<double> hessian_vector() {
  static const std::vector<double> at = Kernel::at(), along = bench::direction(at.size()), weights{0.0, 1.0};
  CppAD::ADFun<double> f = recorded<Kernel>(at);
  f.Forward(1, along);
  const std::vector<double> both = f.Reverse(2, weights);
  std::vector<double> all;
  for (std::size_t i = 0; i < at.size(); ++i) all.push_back(both[2 * i]);
  return all;
}

template <class Kernel>
std::vector<double> replay_hessian_vector() {
  static const std::vector<double> at = Kernel::at(), along = bench::direction(at.size()), weights{0.0, 1.0};
  static CppAD::ADFun<double> f = recorded<Kernel>(at);
  f.Forward(0, at);
  f.Forward(1, along);
  const std::vector<double> both = f.Reverse(2, weights);
  std::vector<double> all;
  for (std::size_t i = 0; i < at.size(); ++i) all.push_back(both[2 * i]);
  return all;
}

template <class Kernel>
std::vector<double> nested() {
  using twice = CppAD::AD<number>;
  static const std::vector<double> at = Kernel::at(), along = bench::direction(at.size()), one{1.0};
  std::vector<number> outer(at.begin(), at.end());
  CppAD::Independent(outer);
  std::vector<twice> x(outer.begin(), outer.end());
  CppAD::Independent(x);
  const std::vector<twice> y{Kernel::value(x.data())};
  CppAD::ADFun<number> f(x, y);
  const std::vector<number> weights{number(1.0)}, slopes = f.Reverse(1, weights);
  std::vector<number> sum{number(0.0)};
  for (std::size_t i = 0; i < at.size(); ++i) sum[0] += along[i] * slopes[i];
  CppAD::ADFun<double> g(outer, sum);
  return g.Reverse(1, one);
}

}  // namespace

void bench::add_cppad(contenders& all) {
  CppAD::thread_alloc::hold_memory(true);
  BENCH_THREE_KERNELS(all, "CppAD", task::replayable, gradient);
  BENCH_THREE_KERNELS(all, "CppAD", task::replay, replay);
  all.push_back(
      {"CppAD", task::hessian_vector, two_body::name, two_body::operations, &hessian_vector<two_body>});
  all.push_back(
      {"CppAD", task::nested_hessian_vector, two_body::name, two_body::operations, &nested<two_body>});
  all.push_back({"CppAD", task::replay_hessian_vector, two_body::name, two_body::operations,
                 &replay_hessian_vector<two_body>});
}
