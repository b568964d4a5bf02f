// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "corescale/team/detail/team_core.hpp"

#pragma GCC visibility push(hidden)
namespace corescale::inline v0::detail {

/// While it lives, the caller counts as running its loop alone, because the team is busy.
/// Each such caller takes a core that a round of the default team then lacks.
class lone_caller {
 public:
  lone_caller() noexcept { enter(); }
  ~lone_caller() {
    if (counted_) leave();
  }
  lone_caller(const lone_caller&) = delete;
  lone_caller& operator=(const lone_caller&) = delete;

  void enter() noexcept {
    born_in_ = fork_generation();
    counted_ = true;
    callers.fetch_add(1, std::memory_order_relaxed);
  }
  void leave() noexcept {
    counted_ = false;
    if (born_in_ == fork_generation()) callers.fetch_sub(1, std::memory_order_relaxed);
  }

  static std::uint32_t count() noexcept { return callers.load(std::memory_order_relaxed); }

  /// In a child of fork(), in which they do not exist.
  static void forget_all() noexcept { callers.store(0, std::memory_order_relaxed); }

 private:
  inline static constinit std::atomic<std::uint32_t> callers{0};
  std::uint64_t born_in_ = 0;
  bool counted_ = false;
};

}  // namespace corescale::detail

#pragma GCC visibility pop
