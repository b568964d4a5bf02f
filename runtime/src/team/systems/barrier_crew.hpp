// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <vector>

#include "corescale/team/detail/crewed_team.hpp"

namespace corescale::inline v0::detail {

/// Threads that meet at a barrier before and after each round, as in the multi-Newton study's team (Bell and Hepperger 2012). All n come to
/// each round, whatever k is, because a barrier has a fixed number of threads. Parts names the types of a library: barrier, with wait();
/// thread, with join(); and uninterrupted: while it lives, no call of the library throws.
template <class Parts>
struct barrier_crew {
  barrier_crew(std::size_t n, const team_options& options)
      : num_threads(n),
        stack_bytes(options.stack_bytes),
        begin(static_cast<unsigned>(n)),
        end(static_cast<unsigned>(n)) {}
  ~barrier_crew() {
    const typename Parts::uninterrupted meanwhile;
    if (started == waiting) {  // not all threads could be had: nobody waits at the barrier
      start_with(none);
    } else {
      ended = true;
      begin.wait();
    }
    for (auto& one : threads) one.join();
  }
  barrier_crew(const barrier_crew&) = delete;
  barrier_crew& operator=(const barrier_crew&) = delete;

  bool start() {
    threads.reserve(num_threads - 1);
    for (std::size_t id = 1; id < num_threads; ++id)
      threads.push_back(Parts::start([this, id] { serve(id); }, stack_bytes));
    start_with(all);
    return true;
  }

  bool run(std::size_t k, worker_ref what) noexcept {
    if (k == 0) return true;
    worker = what;
    at_work = k;
    meet(begin);
    core.run(what, 0, k);
    meet(end);
    return true;
  }

  void serve(std::size_t id) noexcept {
    started.wait(waiting);
    if (started == none) return;
    for (;;) {
      meet(begin);
      if (ended) return;
      if (id < at_work) core.run(worker, id, at_work);
      meet(end);
    }
  }

  static void meet(typename Parts::barrier& where) noexcept {
    const typename Parts::uninterrupted meanwhile;
    where.wait();
  }

  void start_with(int how_many) noexcept {
    started = how_many;
    started.notify_all();
  }

  static void no_worker(std::size_t) noexcept {}

  static constexpr const char* name = Parts::name;
  static constexpr bool ids_stay = true;
  static constexpr int waiting = 0, all = 1, none = 2;
  team_core core;
  const std::size_t num_threads;
  const std::size_t stack_bytes;
  typename Parts::barrier begin, end;
  std::vector<typename Parts::thread> threads;
  std::atomic<int> started{waiting};

  // The master writes it before it arrives at `begin`, and the others read it after that barrier.
  worker_ref worker{no_worker};
  std::size_t at_work = 0;
  bool ended = false;
};

}  // namespace corescale::detail
