// SPDX-License-Identifier: Apache-2.0
// What a library is asked to do, and where it puts the answer. Each library is one .cpp, and gives one table.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels.hpp"

namespace bench {

/// replayable: recorded as a function that can be evaluated at other points, and differentiated once; replay: such
/// a function evaluated and differentiated again; replay_hessian_vector: the same to second order.
enum class task {
  gradient,
  replayable,
  replay,
  hessian_vector,
  nested_hessian_vector,
  replay_hessian_vector
};

/// Whether the answer is a Hessian times direction().
constexpr bool is_second_order(task what) { return what >= task::hessian_vector; }

/// One way of one library to do one task on one kernel. Records anew at each call, as a program does whose
/// branches depend on its data.
struct contender {
  const char* library;
  task what;
  const char* kernel;
  double operations;
  /// The gradient, or the Hessian times direction().
  std::vector<double> (*run)();
};

using contenders = std::vector<contender>;

/// The three kernels for a library whose gradient<Kernel>() is given.
#define BENCH_THREE_KERNELS(list, library, task, gradient)                                           \
  list.push_back({library, task, bench::sum_of_sines::name, bench::sum_of_sines::operations,         \
                  &gradient<bench::sum_of_sines>});                                                  \
  list.push_back(                                                                                    \
      {library, task, bench::product::name, bench::product::operations, &gradient<bench::product>}); \
  list.push_back(                                                                                    \
      {library, task, bench::two_body::name, bench::two_body::operations, &gradient<bench::two_body>})

void add_limit(contenders& all);
void add_corescale(contenders& all);
void add_cppad(contenders& all);
void add_adolc(contenders& all);
void add_codipack(contenders& all);
void add_adept(contenders& all);
void add_xad(contenders& all);
void add_stan(contenders& all);

}  // namespace bench
