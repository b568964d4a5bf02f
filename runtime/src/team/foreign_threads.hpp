// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <thread>
#include <vector>

#include "corescale/team/detail/team_core.hpp"
#include "waiting.hpp"

// For threading libraries that own their threads and say nothing about their limits.
namespace corescale::inline v0::detail {

/// Starts n plain threads, all alive at once, and ends them.
/// This is best effort, for libraries that abort the process at the limit: another thread of the process may use the room before they do.
inline bool can_start_threads(std::size_t n) noexcept {
  std::vector<std::thread> probes;
  countdown_latch end(1);
  bool all = true;
  try {
    probes.reserve(n);
    for (std::size_t started = 0; started < n; ++started)
      probes.emplace_back([&end] { end.wait(std::chrono::nanoseconds::zero()); });
  } catch (...) {
    all = false;
  }
  end.arrive();
  for (std::thread& probe : probes) probe.join();
  return all;
}

/// For libraries whose threads do not survive fork(): true in the first process that asks, false in its children.
class one_process {
 public:
  bool enter() noexcept {
    auto first = none;
    return first_.compare_exchange_strong(first, fork_generation()) || first == fork_generation();
  }

 private:
  static constexpr auto none = std::numeric_limits<std::uint64_t>::max();
  std::atomic<std::uint64_t> first_{none};
};

}  // namespace corescale::detail
