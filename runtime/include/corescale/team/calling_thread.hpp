// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace corescale {

/// The calling thread's id in the innermost team whose worker it runs, 0 .. n - 1; 0 outside of any.
std::size_t thread_num() noexcept;

/// False only where execution is known to be sequential: outside of every worker, and while no team_work()
/// (study.hpp) runs in this process.
bool in_parallel() noexcept;

}  // namespace corescale
