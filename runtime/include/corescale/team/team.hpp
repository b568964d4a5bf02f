// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <memory>

#include "corescale/team/calling_thread.hpp"
#include "corescale/team/function_ref.hpp"

namespace corescale {

/// What a team runs: called as worker(id) once for each id in 0 .. num_threads() - 1.
using worker_ref = function_ref<void(std::size_t)>;

/// A team of n threads that run one worker together and then wait for the next (Bell and Hepperger 2012,
/// section II).
///
/// create(n)       makes n - 1 threads and leaves them waiting; the thread that calls it is the master. Null
/// when n is 0, when
///                 this system cannot hold n threads, or when the thread limit is reached: then nothing is
///                 left behind.
/// work(worker)    runs worker(0) .. worker(n - 1), one on each of n distinct OS threads that are all alive
/// at once: a barrier
///                 over the n inside a worker is legal. worker(0) runs on the master. Within, thread_num() is
///                 the id and in_parallel() is true. On return all have ended, and what they wrote is visible
///                 to the master.
///                   throws   the first exception that left a worker, after all have ended; later ones are
///                   dropped. The
///                            team stays usable.
///                   false    worker not run: the caller is not the master; or this team is at work (a nested
///                   call from one
///                            of its own workers is refused, not run inline); or the process is a fork() of
///                            the owner.
/// num_threads()   n.
/// destructor      ends the n - 1 threads; by the master, not from a worker. In a fork() of the owner, which
/// has no such
///                 threads, it forgets them instead of waiting. After a fork() from inside a worker: _exit or
///                 exec only.
///
/// A worker may own and use a team of its own. Threads per system are limited as its file says.
template <class T>
concept team = requires(T& running, const T& idle, std::size_t n, worker_ref worker) {
  { T::create(n) } -> std::same_as<std::unique_ptr<T>>;
  { running.work(worker) } -> std::same_as<bool>;
  { idle.num_threads() } -> std::same_as<std::size_t>;
};

}  // namespace corescale
