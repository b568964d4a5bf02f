// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "corescale/team/detail/team_core.hpp"

// For threading libraries that own their threads and say nothing about their limits.
namespace corescale::inline v0::detail {

/// Starts n plain threads, all alive at once, and ends them.
/// Best effort for libraries that abort the process at the limit: another thread of the process may take the room before they do.
bool can_start_threads(std::size_t n) noexcept;

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
