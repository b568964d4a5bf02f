// SPDX-License-Identifier: Apache-2.0
#include <codi.hpp>

#include "contender.hpp"

namespace {

using number = codi::RealReverse;

template <class Kernel>
std::vector<double> gradient() {
  static const std::vector<double> at = Kernel::at();
  auto& tape = number::getTape();
  tape.setActive();
  std::vector<number> x(at.begin(), at.end());
  for (number& one : x) tape.registerInput(one);
  number y = Kernel::value(x.data());
  tape.registerOutput(y);
  tape.setPassive();
  y.setGradient(1.0);
  tape.evaluate();
  std::vector<double> all;
  all.reserve(x.size());
  for (const number& one : x) all.push_back(one.getGradient());
  tape.reset();
  return all;
}

using nested = codi::RealReverseGen<codi::RealForward>;

template <class Kernel>
std::vector<double> hessian_vector() {
  static const std::vector<double> at = Kernel::at(), along = bench::direction(at.size());
  auto& tape = nested::getTape();
  tape.setActive();
  std::vector<nested> x(at.begin(), at.end());
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i].value().gradient() = along[i];
    tape.registerInput(x[i]);
  }
  nested y = Kernel::value(x.data());
  tape.registerOutput(y);
  tape.setPassive();
  y.gradient().value() = 1.0;
  tape.evaluate();
  std::vector<double> all;
  for (nested& one : x) all.push_back(one.gradient().gradient());
  tape.reset();
  return all;
}

}  // namespace

void bench::add_codipack(contenders& all) {
  BENCH_THREE_KERNELS(all, "CoDiPack", task::gradient, gradient);
  all.push_back(
      {"CoDiPack", task::hessian_vector, two_body::name, two_body::operations, &hessian_vector<two_body>});
}
