// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "corescale/team/team.hpp"

namespace corescale::inline v0 {

/// The team that loops use if none is named: a `spin` team with a thread for each core that the process may use, whichever of
/// its threads may. Made at the first use, made anew if the process gets more cores, ended by restart() alone.
/// Any thread may use it, one at a time: nobody waits. Loops of other threads meanwhile run on their callers, and what is left of them is
/// divided once the team is free.
/// Its threads do not keep a process alive whose main() has ended by pthread_exit().
/// If threads or memory run out, num_threads() is 1, and later calls try again.
class process_wide_team {
 public:
  /// Inside a worker of its own, on the threads that the outer loop leaves idle, shared out among those that take part in it; refused if
  /// there are none, and inside any other worker, so that nested loops do not compete for the cores.
  [[nodiscard]] outcome work(std::size_t k, worker_ref worker);

  /// As work(), for workers that never wait for each other: the caller runs the share of a thread that comes late.
  [[nodiscard]] outcome work_anywhere(std::size_t k, worker_ref worker);

  /// The number of threads that the calling thread's next loop may use.
  std::size_t num_threads() const noexcept;

  /// Ends its threads and makes new ones, with the number and the options that are given. From then on their number stays.
  /// Without arguments the team is as before its first use: at the next use it gets a thread for each core.
  /// False, and nothing has changed, if it is called inside a worker, if another thread's loop uses the team, or if threads or memory run out.
  [[nodiscard]] bool restart(std::size_t num_threads, const team_options& options = {});
  [[nodiscard]] bool restart();
};

process_wide_team& default_team();

}  // namespace corescale
