// SPDX-License-Identifier: Apache-2.0
#pragma once

#define EIGEN_USE_THREADS
#include <eigen3/unsupported/Eigen/CXX11/Tensor>

#include "ranges.hpp"

/// ThreadPoolDevice::parallelFor by its cost model, told what an iteration costs: that is its users' part.
struct contender {
  static constexpr const char* name = "Eigen";
  explicit contender(std::size_t threads)
      : pool(static_cast<int>(threads)), device(&pool, static_cast<int>(threads)) {}
  Eigen::ThreadPool pool;
  Eigen::ThreadPoolDevice device;

  template <class Loop>
  void run() {
    const Eigen::TensorOpCost cost(0, 0, Loop::cycles);
    device.parallelFor(static_cast<Eigen::Index>(Loop::n), cost, [](Eigen::Index begin, Eigen::Index end) {
      run_range<Loop>(static_cast<std::size_t>(begin), static_cast<std::size_t>(end));
    });
  }

  template <class Visit>
  static void ways(Visit visit) {
    visit("cost model", []<class Loop>(contender& one) { one.run<Loop>(); });
  }
};
