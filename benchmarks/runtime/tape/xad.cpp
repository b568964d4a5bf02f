// SPDX-License-Identifier: Apache-2.0
#include <XAD/XAD.hpp>

#include "contender.hpp"

namespace {

template <class Kernel>
std::vector<double> gradient() {
  using mode = xad::adj<double>;
  static const std::vector<double> at = Kernel::at();
  static mode::tape_type tape(false);
  tape.activate();
  std::vector<mode::active_type> x(at.begin(), at.end());
  tape.registerInputs(x);
  tape.newRecording();
  mode::active_type y = Kernel::value(x.data());
  tape.registerOutput(y);
  xad::derivative(y) = 1.0;
  tape.computeAdjoints();
  std::vector<double> all;
  all.reserve(x.size());
  for (auto& one : x) all.push_back(xad::derivative(one));
  tape.deactivate();
  return all;
}

template <class Kernel>
std::vector<double> hessian_vector() {
  using mode = xad::fwd_adj<double>;
  static const std::vector<double> at = Kernel::at(), along = bench::direction(at.size());
  static mode::tape_type tape(false);
  tape.activate();
  std::vector<mode::active_type> x(at.begin(), at.end());
  for (std::size_t i = 0; i < x.size(); ++i) xad::derivative(xad::value(x[i])) = along[i];
  tape.registerInputs(x);
  tape.newRecording();
  mode::active_type y = Kernel::value(x.data());
  tape.registerOutput(y);
  xad::value(xad::derivative(y)) = 1.0;
  tape.computeAdjoints();
  std::vector<double> all;
  for (auto& one : x) all.push_back(xad::derivative(xad::derivative(one)));
  tape.deactivate();
  return all;
}

}  // namespace

void bench::add_xad(contenders& all) {
  BENCH_THREE_KERNELS(all, "XAD", task::gradient, gradient);
  all.push_back(
      {"XAD", task::hessian_vector, two_body::name, two_body::operations, &hessian_vector<two_body>});
}
