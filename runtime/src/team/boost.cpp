// SPDX-License-Identifier: Apache-2.0
#define BOOST_THREAD_VERSION 4
#include <boost/thread/barrier.hpp>
#include <boost/thread/future.hpp>
#include <boost/thread/thread.hpp>
#include <optional>
#include <vector>

#include "barrier_team.hpp"
#include "corescale/team/detail/membership.hpp"
#include "systems.hpp"

namespace corescale {
namespace {

/// Boost.Thread: threads, and barriers that sleep on a mutex and a condition variable.
struct crew {
  explicit crew(std::size_t n)
      : num_threads(n),
        complete(formed.get_future().share()),
        start(static_cast<unsigned>(n)),
        finish(static_cast<unsigned>(n)) {}

  void serve(std::size_t id) {
    if (!complete.get()) return;
    for (;;) {
      start.wait();
      if (!worker) return;
      errors.run(*worker, id);
      finish.wait();
    }
  }

  bool start_threads() {
    try {
      threads.reserve(num_threads - 1);
      for (std::size_t id = 1; id < num_threads; ++id) threads.emplace_back([this, id] { serve(id); });
      formed.set_value(true);
      return true;
    } catch (const std::exception&) {  // boost::thread_resource_error at the thread limit, std::bad_alloc
      formed.set_value(false);
      join();
      return false;
    }
  }

  void end() {
    worker.reset();
    start.wait();
    join();
  }

  void join() {
    for (boost::thread& one : threads) one.join();
  }

  const std::size_t num_threads;
  detail::master_gate gate;
  detail::first_exception errors;
  std::optional<worker_ref> worker;
  boost::promise<bool> formed;
  boost::shared_future<bool> complete;
  boost::barrier start;
  boost::barrier finish;
  std::vector<boost::thread> threads;
};

using boost_team = detail::barrier_team<crew>;
static_assert(team<boost_team>);

}  // namespace

any_team systems::make_boost(std::size_t num_threads) { return any_team(boost_team::create(num_threads)); }

}  // namespace corescale
