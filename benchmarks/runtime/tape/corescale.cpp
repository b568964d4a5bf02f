// SPDX-License-Identifier: Apache-2.0
#include "contender.hpp"
#include "corescale/tape/drivers.hpp"

namespace {

using corescale::gradient_tape;
using corescale::real;

template <class Kernel>
std::vector<double> gradient() {
  static const std::vector<double> at = Kernel::at();
  gradient_tape<double> tape;
  const std::vector<real<double>> x = corescale::variables(tape, std::span<const double>(at));
  tape.reverse(Kernel::value(x.data()));
  std::vector<double> all;
  all.reserve(x.size());
  for (const real<double>& one : x) all.push_back(tape.adjoint(one));
  return all;
}

template <class Kernel>
std::vector<double> replayable() {
  static const std::vector<double> at = Kernel::at(), one{1.0};
  corescale::function<double> f =
      corescale::record<double>([](auto x) { return Kernel::value(x.data()); }, std::span<const double>(at));
  return f.reverse(one);
}

template <class Kernel>
std::vector<double> hessian_vector() {
  static const std::vector<double> at = Kernel::at(), along = bench::direction(at.size());
  return corescale::hessian_vector<double>([](auto x) { return Kernel::value(x.data()); }, at, along);
}

template <class Kernel>
std::vector<double> nested() {
  static const std::vector<double> at = Kernel::at(), along = bench::direction(at.size());
  gradient_tape<double> tape;
  const std::vector<real<double>> x = corescale::variables(tape, std::span<const double>(at));
  const auto slopes =
      corescale::gradient<real<double>>([](auto z) { return Kernel::value(z.data()); }, x).derivatives;
  real<double> sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += along[i] * slopes[i];
  tape.reverse(sum);
  std::vector<double> all;
  for (const real<double>& one : x) all.push_back(tape.adjoint(one));
  return all;
}

/// Evaluated and differentiated anew at a recorded function, which is not recorded again.
template <class Kernel>
std::vector<double> replay() {
  static const std::vector<double> at = Kernel::at(), one{1.0};
  static corescale::function<double> f =
      corescale::record<double>([](auto x) { return Kernel::value(x.data()); }, std::span<const double>(at));
  f.forward(at);
  return f.reverse(one);
}

template <class Kernel>
std::vector<double> replay_hessian_vector() {
  static const std::vector<double> at = Kernel::at(), along = bench::direction(at.size()), one{1.0};
  static corescale::function<double> f =
      corescale::record<double>([](auto x) { return Kernel::value(x.data()); }, std::span<const double>(at));
  return f.hessian_vector(at, along, one);
}

}  // namespace

void bench::add_corescale(contenders& all) {
  BENCH_THREE_KERNELS(all, "corescale", task::gradient, gradient);
  BENCH_THREE_KERNELS(all, "corescale", task::replayable, replayable);
  BENCH_THREE_KERNELS(all, "corescale", task::replay, replay);
  all.push_back(
      {"corescale", task::hessian_vector, two_body::name, two_body::operations, &hessian_vector<two_body>});
  all.push_back(
      {"corescale", task::nested_hessian_vector, two_body::name, two_body::operations, &nested<two_body>});
  all.push_back({"corescale", task::replay_hessian_vector, two_body::name, two_body::operations,
                 &replay_hessian_vector<two_body>});
}
