// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <memory>

#include "corescale/team/calling_thread.hpp"
#include "corescale/team/function_ref.hpp"
#include "corescale/team/outcome.hpp"
#include "corescale/team/team_options.hpp"

namespace corescale::inline v0 {

/// What a team runs: worker(id), once for each id.
using worker_ref = function_ref<void(std::size_t)>;

/// A team of n threads that run one worker together and then wait for the next (Bell and Hepperger 2012, section II).
/// One thread at a time is its master: at first the one that made it.
/// A worker may own and use a team of its own.
/// How many threads a system can hold is said in its file.
template <class T>
concept team = requires(T& crew, const T& idle, std::size_t n, worker_ref worker,
                        const team_options& options) {
  // Makes n - 1 threads and leaves them waiting; the caller becomes the master, and id 0.
  // Null when n is 0, when the system cannot hold n threads, and when threads or memory run out.
  // Nothing is left behind then.
  { T::create(n) } -> std::same_as<std::unique_ptr<T>>;
  { T::create(n, options) } -> std::same_as<std::unique_ptr<T>>;

  // Runs worker(0) .. worker(n - 1), one on each of n distinct OS threads that are all alive at once.
  // A barrier over the n inside a worker is legal.
  // worker(0) runs on the master.
  // Within, thread_num() is the id, current_team() is this team, and in_parallel() is true.
  // On return all have ended, and what they wrote is visible to the master.
  // Throws the first exception that left a worker, after all have ended; later ones are dropped, and the team stays usable.
  // Any answer but done means that no worker was run (outcome.hpp): a nested call is refused, not run inline.
  { crew.work(worker) } -> std::same_as<outcome>;

  // The same with ids 0 .. k - 1 alone: the other threads are not woken.
  // too_few_threads when k is more than n; nothing is run when k is 0.
  { crew.work(n, worker) } -> std::same_as<outcome>;

  // Gives the team up: until a thread adopts it, it has no master.
  // By the master, outside of work.
  { crew.release() } -> std::same_as<outcome>;

  // Makes the caller the master of a team that was released, or whose master's thread has ended.
  // Of several that try at once, one succeeds.
  // not_master, and nothing changed, while another thread is the master.
  // Callers do not queue: two teams whose workers wait for each other would never end, and every call would pay for the queue.
  { crew.adopt() } -> std::same_as<outcome>;

  // n.
  { idle.num_threads() } -> std::same_as<std::size_t>;

  // The destructor ends the n - 1 threads: by any thread, outside of work.
  // In a fork() of the owner, which has no such threads, it forgets them instead of waiting.
  // After a fork() from inside a worker: _exit or exec only.
};

}  // namespace corescale
