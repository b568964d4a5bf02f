// SPDX-License-Identifier: Apache-2.0
#define BOOST_THREAD_VERSION 4
#include <boost/thread/barrier.hpp>
#include <boost/thread/condition_variable.hpp>
#include <boost/thread/mutex.hpp>
#include <boost/thread/thread.hpp>

#include "barrier_crew.hpp"
#include "condition_crew.hpp"
#include "systems.hpp"

namespace corescale::inline v0 {
namespace {

struct parts {
  using mutex = boost::mutex;
  using lock = boost::unique_lock<boost::mutex>;
  using condition_variable = boost::condition_variable;
  using thread = boost::thread;
  using uninterrupted = boost::this_thread::disable_interruption;  // a request stays pending
  static constexpr const char* name = "boost";

  static boost::thread::attributes attributes(std::size_t stack_bytes) {
    boost::thread::attributes with;
    if (stack_bytes) with.set_stack_size(stack_bytes);
    return with;
  }

  template <class Function>
  static thread start(Function function, std::size_t stack_bytes) {
    const boost::thread::attributes with = attributes(stack_bytes);
    return thread(with, std::move(function));
  }
};

struct parts_with_barrier : parts {
  using barrier = boost::barrier;
  static constexpr const char* name = "boost_barrier";
};

using boost_team = detail::crewed_team<detail::condition_crew<parts>>;
using boost_barrier_team = detail::crewed_team<detail::barrier_crew<parts_with_barrier>>;
static_assert(team<boost_team> && team<boost_barrier_team>);

}  // namespace

any_team systems::make_boost(std::size_t num_threads, const team_options& options) {
  return any_team(boost_team::create(num_threads, options));
}

any_team systems::make_boost_barrier(std::size_t num_threads, const team_options& options) {
  return any_team(boost_barrier_team::create(num_threads, options));
}

}  // namespace corescale

CORESCALE_ENTRY_POINT(boost)
CORESCALE_ENTRY_POINT(boost_barrier)
