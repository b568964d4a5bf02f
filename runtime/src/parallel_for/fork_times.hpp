// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>

#include "corescale/parallel_for/calibration.hpp"

namespace corescale::inline v0::detail {

/// What a fork and join takes here, as told by loops so long that a clock costs them nothing, and that are forked whatever it is: so
/// what was learned under load is unlearned after it. Any number of threads may read and write at once: a lost update is one sample less.
class fork_times {
 public:
  /// From a call to the last thread's first block, and from the end of the last block to the return.
  void learn(double ns, std::uint32_t threads, const calibration& machine) noexcept {
    const double pair = ns - machine.fork_thread * (std::max(threads, 2U) - 2);
    const bool spun = pair < std::sqrt(machine.fork_hot * machine.fork_cold);
    if (spun)
      take(hot_, pair, machine.fork_hot);
    else
      take(cold_, pair, machine.fork_cold);
  }

  /// Of two threads, in ns; what the calibration says until a loop has told.
  double of_pair(bool hot, const calibration& machine) const noexcept {
    const float known = (hot ? hot_ : cold_).load(std::memory_order_relaxed);
    return known > 0 ? known : hot ? machine.fork_hot : machine.fork_cold;
  }

 private:
  // Beyond this factor it is no fork that was timed, but another program.
  static constexpr double most_times = 4;
  static constexpr double weight_of_new = 0.25;

  static void take(std::atomic<float>& known, double seen, double constant) noexcept {
    const float before = known.load(std::memory_order_relaxed);
    const double old = before > 0 ? before : constant;
    const double bounded = std::clamp(seen, constant / most_times, constant * most_times);
    known.store(static_cast<float>(old + weight_of_new * (bounded - old)), std::memory_order_relaxed);
  }

  std::atomic<float> hot_{0};
  std::atomic<float> cold_{0};
};

}  // namespace corescale::detail
