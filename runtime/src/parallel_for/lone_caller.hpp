// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "corescale/team/detail/team_core.hpp"

#pragma GCC visibility push(hidden)
namespace corescale::inline v0::detail {

/// A caller that runs its loop by itself, because the team was busy, while this lives.
/// Each has a core that a round of the default team then lacks.
class lone_caller {
 public:
  lone_caller() noexcept { callers.fetch_add(1, std::memory_order_relaxed); }
  ~lone_caller() {
    if (born_in_ == fork_generation()) callers.fetch_sub(1, std::memory_order_relaxed);
  }
  lone_caller(const lone_caller&) = delete;
  lone_caller& operator=(const lone_caller&) = delete;

  static std::uint32_t count() noexcept { return callers.load(std::memory_order_relaxed); }

  /// In a child of fork(), in which they do not exist.
  static void forget_all() noexcept { callers.store(0, std::memory_order_relaxed); }

 private:
  inline static constinit std::atomic<std::uint32_t> callers{0};
  const std::uint64_t born_in_ = fork_generation();
};

}  // namespace corescale::detail

#pragma GCC visibility pop
