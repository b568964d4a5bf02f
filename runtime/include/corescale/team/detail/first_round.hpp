// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "corescale/machine/topology.hpp"
#include "corescale/team/team_options.hpp"

// What happens to a team's threads before their first worker.
namespace corescale::inline v0::detail {

/// Names and pins each thread, and calls the program's on_thread_start.
class first_round {
 public:
  first_round(const char* system, std::size_t num_threads, const team_options& options);
  void operator()(std::size_t id) const;

 private:
  const char* system_;
  const team_options& options_;
  std::vector<cpu_place> places_;  // empty: not pinned
};

}  // namespace corescale::detail
