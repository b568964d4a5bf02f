// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "corescale/team/team.hpp"

namespace corescale::inline v0 {

/// The team that loops use if none is named: a `spin` team with a thread for each core that any thread of the process may use. It is made
/// at the first use, and again if the process gets more cores. Only restart() ends it. Any thread may use it, one at a time, and no
/// thread waits for it: while it is in use, loops of other threads run on their callers. As soon as the team is free, it takes part in
/// what is left of these loops. After main() has ended by pthread_exit(), its threads do not keep the process alive. If threads or memory
/// run out, num_threads() is 1, and later calls try again.
class process_wide_team {
 public:
  /// A call inside one of its own workers uses threads that the outer loop leaves idle; these are divided among the threads of the outer
  /// loop. It is refused if there are none. It is also refused inside a worker of any other team, so that nested loops do not compete for
  /// the cores.
  [[nodiscard]] outcome work(std::size_t k, worker_ref worker);

  /// The same as work(), for workers that never wait for each other: the caller runs the share of a thread that comes late.
  /// It is also refused if callers that run their own loops leave less than two cores.
  [[nodiscard]] outcome work_anywhere(std::size_t k, worker_ref worker);

  /// The number of threads that the calling thread's next loop may use.
  std::size_t num_threads() const noexcept;

  /// Ends its threads and makes new ones, with the given number and options. From then on, their number does not change.
  /// Without arguments, the team is reset: at its next use it gets a thread for each core.
  /// Returns false and changes nothing if it is called inside a worker, or if another thread's loop uses the team. The same holds if
  /// threads or memory run out.
  [[nodiscard]] bool restart(std::size_t num_threads, const team_options& options = {});
  [[nodiscard]] bool restart();
};

process_wide_team& default_team();

}  // namespace corescale
