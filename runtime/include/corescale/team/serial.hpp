// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include "corescale/team/detail/membership.hpp"
#include "corescale/team/team.hpp"

namespace corescale {

/// The team without threads: what a program costs before any threading system is involved. Holds exactly one
/// thread.
class serial_team {
 public:
  static std::unique_ptr<serial_team> create(std::size_t num_threads) {
    return num_threads == 1 ? std::make_unique<serial_team>() : nullptr;
  }

  bool work(worker_ref worker) {
    if (!gate_.enter()) return false;
    errors_.run(worker, 0);
    gate_.leave();
    errors_.rethrow();
    return true;
  }

  std::size_t num_threads() const noexcept { return 1; }

 private:
  detail::master_gate gate_;
  detail::first_exception errors_;
};

static_assert(team<serial_team>);

}  // namespace corescale
