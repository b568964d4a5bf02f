// SPDX-License-Identifier: Apache-2.0
#include <mutex>

#include "condition_crew.hpp"
#include "corescale/team/detail/posix_thread.hpp"
#include "systems.hpp"

namespace corescale::inline v0 {
namespace {

/// POSIX threads, mutexes and condition variables, under the names that the standard library gives them.
struct parts {
  using mutex = std::mutex;
  using lock = std::unique_lock<std::mutex>;
  using condition_variable = std::condition_variable;
  using thread = detail::posix_thread;
  static constexpr const char* name = "pthread";

  template <class Function>
  static thread start(Function function, std::size_t stack_bytes) {
    return thread(function, stack_bytes);
  }
};

using pthread_team = detail::crewed_team<detail::condition_crew<parts>>;
static_assert(team<pthread_team>);

}  // namespace

any_team systems::make_pthread(std::size_t num_threads, const team_options& options) {
  return any_team(pthread_team::create(num_threads, options));
}

}  // namespace corescale
