// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>
#include <type_traits>

#include "corescale/team/any_team.hpp"

/// The interface of Bell and Hepperger 2012, section II: one team per process, five free functions.
/// The other two, thread_num() and in_parallel(), are in calling_thread.hpp.
/// On misuse each returns false and does nothing. A call is misuse from inside a worker, in parallel mode, from a thread other than the
/// master, or out of order. Execution is sequential again when a function returns.
/// Safe to call from any thread at any time.
namespace corescale::inline v0 {

/// Makes the process's team; the caller becomes the master.
/// Also returns false if num_threads is 0, if the system is unknown or absent, or if threads or memory run out. If a team exists whose
/// master's thread is alive, it returns false; if that thread has ended, its team is ended first.
bool team_create(std::size_t num_threads = usable_cores(),
                 std::string_view system = default_threading_system);

namespace detail {
bool team_work(function_ref<bool()> worker);
}

/// Runs `bool worker()` or `void worker()` once on each thread, with thread_num() from 0 to n - 1.
/// Also false if a worker returned false.
/// Throws the first exception that left a worker, after all have ended.
template <std::invocable<> Worker>
bool team_work(Worker&& worker) {
  if constexpr (std::is_void_v<std::invoke_result_t<Worker&>>) {
    return detail::team_work([&worker] { return std::invoke(worker), true; });
  } else {
    return detail::team_work(worker);
  }
}

/// Ends all threads but the master.
/// In a forked child, it only forgets the team of the parent, so that the calling thread may make another.
bool team_destroy();

}  // namespace corescale
