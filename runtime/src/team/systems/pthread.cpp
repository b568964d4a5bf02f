// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>

#include <mutex>
#include <new>

#include "barrier_crew.hpp"
#include "condition_crew.hpp"
#include "corescale/team/detail/posix_thread.hpp"
#include "systems.hpp"

namespace corescale::inline v0 {
namespace {

struct posix_barrier {
  explicit posix_barrier(unsigned threads) {
    if (pthread_barrier_init(&barrier_, nullptr, threads)) throw std::bad_alloc();
  }
  ~posix_barrier() { pthread_barrier_destroy(&barrier_); }
  posix_barrier(const posix_barrier&) = delete;
  posix_barrier& operator=(const posix_barrier&) = delete;
  void wait() noexcept { pthread_barrier_wait(&barrier_); }

 private:
  pthread_barrier_t barrier_;
};

/// POSIX threads, mutexes and condition variables, under the names that the standard library gives them.
struct parts {
  using mutex = std::mutex;
  using lock = std::unique_lock<std::mutex>;
  using condition_variable = std::condition_variable;
  using thread = detail::posix_thread;
  struct uninterrupted {
    uninterrupted() noexcept {}
  };
  static constexpr const char* name = "pthread";

  template <class Function>
  static thread start(Function function, std::size_t stack_bytes) {
    return thread(function, stack_bytes);
  }
};

struct parts_with_barrier : parts {
  using barrier = posix_barrier;
  static constexpr const char* name = "pthread_barrier";
};

using pthread_team = detail::crewed_team<detail::condition_crew<parts>>;
using pthread_barrier_team = detail::crewed_team<detail::barrier_crew<parts_with_barrier>>;
static_assert(team<pthread_team> && team<pthread_barrier_team>);

}  // namespace

any_team systems::make_pthread(std::size_t num_threads, const team_options& options) {
  return any_team(pthread_team::create(num_threads, options));
}

any_team systems::make_pthread_barrier(std::size_t num_threads, const team_options& options) {
  return any_team(pthread_barrier_team::create(num_threads, options));
}

}  // namespace corescale
