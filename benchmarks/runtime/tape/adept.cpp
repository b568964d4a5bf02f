// SPDX-License-Identifier: Apache-2.0
#define ADEPT_STACK_THREAD_UNSAFE 1  // as its manual gives for a program of one thread
#include <adept.h>

#include "contender.hpp"

namespace {

using number = adept::adouble;

// Active throughout: variables that outlive the activity of their stack crash.
adept::Stack& only_stack() {
  static adept::Stack stack;
  return stack;
}

template <class Kernel>
std::vector<double> gradient() {
  static const std::vector<double> at = Kernel::at();
  adept::Stack& stack = only_stack();
  std::vector<number> x(at.begin(), at.end());
  stack.new_recording();
  number y = Kernel::value(x.data());
  y.set_gradient(1.0);
  stack.reverse();
  std::vector<double> all;
  all.reserve(x.size());
  for (const number& one : x) all.push_back(one.get_gradient());
  return all;
}

}  // namespace

void bench::add_adept(contenders& all) { BENCH_THREE_KERNELS(all, "Adept", task::gradient, gradient); }
