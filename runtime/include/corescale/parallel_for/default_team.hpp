// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "corescale/team/team.hpp"

namespace corescale::inline v0 {

/// The team that loops use where none is named: a `spin` team of as many threads as the process may use cores, made at
/// the first use, never ended. It serves one thread at a time: at first the one that made it, and after that thread's end
/// the next that asks. While it is made, other threads run their loops alone.
class process_wide_team {
 public:
  /// Refused inside any worker too, so that nested loops do not compete for the cores.
  [[nodiscard]] outcome work(std::size_t k, worker_ref worker);
  std::size_t num_threads() const noexcept;
  bool asleep(std::size_t k) const noexcept;  ///< as any_team's; false before the first use
};

process_wide_team& default_team();

}  // namespace corescale
