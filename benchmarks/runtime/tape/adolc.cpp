// SPDX-License-Identifier: Apache-2.0
#include <adolc/adolc.h>

#include "contender.hpp"

namespace {

template <class Kernel>
std::vector<double> gradient() {
  static std::vector<double> at = Kernel::at();
  std::vector<adouble> x(at.size());
  constexpr short tag = 1;
  trace_on(tag, 1);
  for (std::size_t i = 0; i < at.size(); ++i) x[i] <<= at[i];
  adouble y = Kernel::value(x.data());
  double value = 0;
  y >>= value;
  trace_off();
  std::vector<double> all(at.size());
  double weight = 1;
  reverse(tag, 1, static_cast<int>(at.size()), 0, &weight, all.data());
  return all;
}

}  // namespace

void bench::add_adolc(contenders& all) { BENCH_THREE_KERNELS(all, "ADOL-C", task::replayable, gradient); }
