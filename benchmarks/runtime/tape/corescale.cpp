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

}  // namespace

void bench::add_corescale(contenders& all) {
  BENCH_THREE_KERNELS(all, "corescale", task::gradient, gradient);
  BENCH_THREE_KERNELS(all, "corescale", task::replayable, replayable);
}
