// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cppad/cppad.hpp>
#include <memory>

#include "contender.hpp"

namespace {

using number = CppAD::AD<double>;

// What CppAD asks a program with threads for.
std::atomic<bool> working{false};
thread_local std::size_t number_of_this_thread = 0;
bool in_parallel() { return working; }
std::size_t thread_number() { return number_of_this_thread; }

/// As CppAD's own benchmark: recorded at each point in its own vectors, values by the recording, then one sweep forward.
struct evaluator {
  multi_newton::Point operator()(double x) const {
    CppAD::vector<number> at(1), y(1);
    at[0] = x;
    CppAD::Independent(at);
    y[0] = bench::sines(at[0]);
    CppAD::ADFun<double> f(at, y);
    CppAD::vector<double> along(1);
    along[0] = 1;
    const CppAD::vector<double> slope = f.Forward(1, along);
    return {CppAD::Value(y[0]), slope[0]};
  }
};

evaluator begin(std::size_t m) {
  number_of_this_thread = m;
  return {};
}

void set_up(std::size_t threads) {
  if (threads > 1)
    CppAD::thread_alloc::parallel_setup(threads, in_parallel, thread_number);
  else
    CppAD::thread_alloc::parallel_setup(1, nullptr, nullptr);
  CppAD::thread_alloc::hold_memory(true);
  CppAD::parallel_ad<double>();
}

}  // namespace

void bench::add_cppad(std::vector<contender>& all, std::size_t threads) {
  const auto once = std::make_shared<repeat<decltype(&begin)>>(threads, &begin);
  all.push_back({"CppAD", threads, [once, threads] {
                   set_up(threads);
                   working = threads > 1;
                   const std::size_t evaluations = (*once)();
                   working = false;
                   return evaluations;
                 }});
}
