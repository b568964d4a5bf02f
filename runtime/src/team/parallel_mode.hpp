// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "corescale/team/detail/team_core.hpp"

// What in_parallel() answers from.
namespace corescale::inline v0::detail {

inline bool inside_any_worker() noexcept { return calling_thread.innermost != nullptr; }

/// The process's own team (process_team.hpp) begins or ends a call of work().
void set_process_team_at_work(bool at_work) noexcept;

}  // namespace corescale::detail
