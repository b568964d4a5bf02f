// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>

#include "corescale/team/calling_thread.hpp"
#include "corescale/team/function_ref.hpp"

namespace corescale::inline v0 {

/// The outcome of a call of a team; only `done` means that workers were run.
enum class outcome {
  done,
  nested,           ///< called from inside a worker of the same team
  not_master,       ///< called by another thread than the team's master
  forked,           ///< called in a fork() of the team's owner, which has no such threads
  empty,            ///< called on an any_team that holds none
  too_few_threads,  ///< more threads were asked for than the team has, or than its threading system gives
};

/// The outcome in words.
const char* name(outcome what) noexcept;

/// The options of create(), besides the number of threads.
struct team_options {
  /// Time for which a thread of `spin` with nothing to do spins before it sleeps in the kernel.
  /// 2 ms: a wake-up costs 5 to 30 us, so a program that forks every millisecond never pays it. A program that pauses wastes at most 2 ms
  /// for each thread and pause.
  std::chrono::nanoseconds spin_for = usual_spin_for;
  static constexpr std::chrono::nanoseconds usual_spin_for = std::chrono::milliseconds(2);

  /// Whether each thread stays on the CPU that place_threads(n) has for its id (placement.hpp).
  /// The default is false, because a pinned thread cannot leave a CPU that another program takes.
  /// The master is pinned too, until it ends the team.
  /// `tbb`, `ports` and `openmp` cannot pin, so create() returns null. In the first two, an id changes its thread from round to round.
  /// OpenMP's library ends threads that a round does not need, or lends them to its next team.
  bool pin = false;

  /// Bytes of stack of the threads that the team makes; 0 for the system's default.
  /// No effect on `openmp` (which has OMP_STACKSIZE) and `tbb` (global_control::thread_stack_size): they make their own.
  std::size_t stack_bytes = 0;

  /// Called once on each thread with its id, the master's 0 too, before create() returns; empty for nothing.
  /// create() throws what this function throws, and leaves no team.
  /// It also makes each share of a loop run on its own thread, as with `pin`, so that the share finds what was set up there.
  std::function<void(std::size_t id)> on_thread_start = {};

  /// Whether a thread of `spin` leaves its core if it finds another thread of its team there in the same round.
  /// The default is true, because Linux may start or wake two threads on one core, and leave them there while another core is busy. Then a
  /// loop takes its serial time. It narrows and restores the thread's own CPU mask; a thread whose mask was changed from outside stays, as
  /// does a pinned one.
  bool leave_shared_cores = true;
};

/// What a team runs: worker(id), once for each id.
using worker_ref = function_ref<void(std::size_t)>;

/// A team of n threads that run one worker together and then wait for the next (Bell and Hepperger 2012, section II).
/// One thread at a time is its master: at first the one that made it.
/// A worker may own and use a team of its own.
/// The file of each system says how many threads it can hold.
template <class T>
concept team = requires(T& crew, const T& idle, std::size_t n, worker_ref worker,
                        const team_options& options) {
  // Makes n - 1 threads and leaves them waiting; the caller becomes the master, and id 0.
  // Null if n is 0, if the system cannot hold n threads, or if threads or memory run out.
  // Then nothing is left behind.
  { T::create(n) } -> std::same_as<std::unique_ptr<T>>;
  { T::create(n, options) } -> std::same_as<std::unique_ptr<T>>;

  // Runs worker(0) .. worker(n - 1), one on each of n distinct OS threads that are all alive at once.
  // A barrier over the n inside a worker is legal.
  // worker(0) runs on the master.
  // Within, thread_num() is the id, current_team() is this team, and in_parallel() is true.
  // On return all have ended, and what they wrote is visible to the master.
  // Throws the first exception that left a worker, after all have ended; later ones are dropped, and the team stays usable.
  // Any outcome but `done` means that no worker was run. For example, a nested call is refused, and not run inline.
  { crew.work(worker) } -> std::same_as<outcome>;

  // The same with ids 0 .. k - 1 only; the other threads are not woken.
  // Returns too_few_threads if k is more than n. Runs nothing if k is 0.
  { crew.work(n, worker) } -> std::same_as<outcome>;

  // Releases the team, which has no master until a thread adopts it.
  // Only the master calls this, and outside of work.
  { crew.release() } -> std::same_as<outcome>;

  // Makes the caller the master of a team that was released, or whose master's thread has ended.
  // If several threads try at once, one succeeds.
  // Returns not_master and changes nothing while another thread is the master.
  // Callers do not queue: two teams whose workers wait for each other would never end, and every call would pay for the queue.
  { crew.adopt() } -> std::same_as<outcome>;

  // The n of create().
  { idle.num_threads() } -> std::same_as<std::size_t>;

  // The destructor ends the n - 1 threads. Any thread may call it while no worker runs.
  // In a child of fork(), which has no such threads, it forgets them instead of waiting.
  // After a fork() from inside a worker, only _exit and exec may be called.
};

}  // namespace corescale
