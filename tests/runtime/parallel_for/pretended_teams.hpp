// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <thread>

#include "corescale/parallel_for/block_policy.hpp"
#include "corescale/team/team.hpp"

namespace corescale::test {

/// A team of two that starts its second thread for each round, and that one begins late.
struct late_team {
  bool sleeps = true;
  std::chrono::milliseconds late{0};
  static std::size_t num_threads() { return 2; }
  outcome work(std::size_t k, worker_ref worker) const {
    std::thread other([&] {
      std::this_thread::sleep_for(late);
      if (k > 1) worker(1);
    });
    worker(0);
    other.join();
    return outcome::done;
  }
  bool asleep(std::size_t /*k*/) const { return sleeps; }
};

/// A team of two that is one thread, which begins at once and returns late. Where the second share takes no time, neither is late.
struct thread_for_two {
  std::chrono::milliseconds late{0};
  static std::size_t num_threads() { return 2; }
  outcome work(std::size_t k, worker_ref worker) const {
    for (std::size_t id = k; id-- > 0;) worker(id);
    if (late.count() > 0) std::this_thread::sleep_for(late);
    return outcome::done;
  }
  static bool asleep(std::size_t /*k*/) { return true; }
};

inline loop_plan one_share_each(const loop_description& loop) {
  return {.threads = 2, .counters = 2, .largest = loop.n, .smallest = loop.n};
}

}  // namespace corescale::test
