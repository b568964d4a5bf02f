// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace corescale::inline v0 {

/// One thread's place in a team at work.
struct team_place {
  const void* team = nullptr;  ///< Which team: the same for all of its threads, null outside of every worker.
  std::size_t id = 0;          ///< The thread's id.
  std::size_t num_threads = 1;  ///< Number of threads that run this worker: n, or the k of work(k, worker).
};

/// The calling thread's place in the innermost team whose worker it runs.
team_place current_team() noexcept;

/// The id of current_team(): 0 .. n - 1, and 0 outside of any.
std::size_t thread_num() noexcept;

/// False only if execution is known to be sequential: outside of every worker, and while no team_work() (process_team.hpp)
/// runs in this process.
bool in_parallel() noexcept;

}  // namespace corescale
