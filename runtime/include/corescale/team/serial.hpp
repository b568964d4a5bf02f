// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "corescale/team/detail/crewed_team.hpp"

namespace corescale::inline v0 {

namespace detail {

struct serial_crew {
  serial_crew(std::size_t n, const team_options&) : num_threads(n) {}
  bool start() const noexcept { return num_threads == 1; }
  bool run(std::size_t k, worker_ref worker) noexcept {
    if (k == 1) core.run(worker, 0, 1);
    return true;
  }

  static constexpr const char* name = "serial";
  static constexpr bool ids_stay = true;
  team_core core;
  const std::size_t num_threads;
};

}  // namespace detail

/// The team without threads: what a program costs before any threading system is involved.
/// Holds exactly one thread.
using serial_team = detail::crewed_team<detail::serial_crew>;

static_assert(team<serial_team>);

}  // namespace corescale
