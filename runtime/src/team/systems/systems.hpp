// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "corescale/team/any_team.hpp"

// One maker per file of this folder.
namespace corescale::inline v0::systems {

any_team make_pthread(std::size_t num_threads, const team_options& options);
any_team make_pthread_barrier(std::size_t num_threads, const team_options& options);
any_team make_ports(std::size_t num_threads, const team_options& options);
any_team make_openmp(std::size_t num_threads, const team_options& options);
any_team make_boost(std::size_t num_threads, const team_options& options);
any_team make_boost_barrier(std::size_t num_threads, const team_options& options);
any_team make_tbb(std::size_t num_threads, const team_options& options);

}  // namespace corescale::systems
