// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "corescale/team/any_team.hpp"

// The makers of a file of this folder are those of its systems.
namespace corescale::inline v0::systems {

any_team make_pthread(std::size_t num_threads, const team_options& options);
any_team make_pthread_barrier(std::size_t num_threads, const team_options& options);
any_team make_ports(std::size_t num_threads, const team_options& options);
any_team make_openmp(std::size_t num_threads, const team_options& options);
any_team make_boost(std::size_t num_threads, const team_options& options);
any_team make_boost_barrier(std::size_t num_threads, const team_options& options);
any_team make_tbb(std::size_t num_threads, const team_options& options);

}  // namespace corescale::systems

/// The entry point of a system's own library.
#define CORESCALE_ENTRY_POINT(system)                                                         \
  extern "C" void corescale_make_##system(corescale::any_team& made, std::size_t num_threads, \
                                          const corescale::team_options& options) {           \
    made = corescale::systems::make_##system(num_threads, options);                           \
  }
