// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "corescale/machine/cache_line.hpp"
#include "corescale/team/detail/crewed_team.hpp"

namespace corescale::inline v0::detail {

/// Threads that each sleep on a condition variable until there is a round for them. Parts names the types of
/// a library: mutex, lock, condition_variable; thread, with join(); and uninterrupted: while it lives, no call of the library throws.
template <class Parts>
struct condition_crew {
  struct alignas(cache_line) member {
    typename Parts::mutex mutex;
    typename Parts::condition_variable round_begun;
    bool has_round = false;  // guarded by mutex
  };

  condition_crew(std::size_t n, const team_options& options)
      : num_threads(n), stack_bytes(options.stack_bytes), members(n) {}
  ~condition_crew() {
    const typename Parts::uninterrupted meanwhile;
    ended = true;
    for (std::size_t id = 1; id <= threads.size(); ++id) tell(members[id]);
    for (auto& one : threads) one.join();
  }
  condition_crew(const condition_crew&) = delete;
  condition_crew& operator=(const condition_crew&) = delete;

  bool start() {
    threads.reserve(num_threads - 1);
    for (std::size_t id = 1; id < num_threads; ++id)
      threads.push_back(Parts::start([this, id] { serve(id); }, stack_bytes));
    return true;
  }

  bool run(std::size_t k, worker_ref what) noexcept {
    if (k == 0) return true;
    worker = what;
    at_work = k;
    missing = k - 1;
    for (std::size_t id = 1; id < k; ++id) tell(members[id]);
    core.run(what, 0, k);
    const typename Parts::uninterrupted meanwhile;
    typename Parts::lock lock(join_mutex);
    while (missing > 0) joined.wait(lock);
    return true;
  }

  void serve(std::size_t id) noexcept {
    for (;;) {
      await_round(members[id]);
      if (ended) return;
      core.run(worker, id, at_work);
      const typename Parts::lock lock(join_mutex);
      if (--missing == 0) joined.notify_one();
    }
  }

  static void tell(member& one) noexcept {
    const typename Parts::lock lock(one.mutex);
    one.has_round = true;
    one.round_begun.notify_one();
  }

  static void await_round(member& own) noexcept {
    typename Parts::lock lock(own.mutex);
    while (!own.has_round) own.round_begun.wait(lock);
    own.has_round = false;
  }

  static void no_worker(std::size_t) noexcept {}

  static constexpr const char* name = Parts::name;
  static constexpr bool ids_stay = true;
  team_core core;
  const std::size_t num_threads;
  const std::size_t stack_bytes;
  std::vector<member> members;
  std::vector<typename Parts::thread> threads;

  // Written before tell(), so the thread reads it after that.
  worker_ref worker{no_worker};
  std::size_t at_work = 0;
  bool ended = false;

  typename Parts::mutex join_mutex;
  typename Parts::condition_variable joined;
  std::size_t missing = 0;  // guarded by join_mutex while a round runs
};

}  // namespace corescale::detail
