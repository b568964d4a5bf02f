// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>

#include <list>
#include <optional>

#include "barrier_team.hpp"
#include "corescale/team/detail/membership.hpp"
#include "systems.hpp"

namespace corescale {
namespace {

/// POSIX threads that sleep on a mutex and a condition variable between rounds, as the study's team did.
class barrier {
 public:
  explicit barrier(std::size_t parties) noexcept : parties_(parties) {}
  ~barrier() {
    pthread_cond_destroy(&opened_);
    pthread_mutex_destroy(&mutex_);
  }
  barrier(const barrier&) = delete;
  barrier& operator=(const barrier&) = delete;

  void wait() noexcept {
    pthread_mutex_lock(&mutex_);
    const std::size_t round = round_;
    if (++arrived_ == parties_) {
      arrived_ = 0;
      ++round_;
      pthread_cond_broadcast(&opened_);
    }
    while (round == round_) pthread_cond_wait(&opened_, &mutex_);
    pthread_mutex_unlock(&mutex_);
  }

  /// For a team that could not be completed: only while fewer than `parties` have arrived.
  void expect_only(std::size_t parties) noexcept {
    pthread_mutex_lock(&mutex_);
    parties_ = parties;
    pthread_mutex_unlock(&mutex_);
  }

 private:
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t opened_ = PTHREAD_COND_INITIALIZER;
  std::size_t parties_;
  std::size_t arrived_ = 0;
  std::size_t round_ = 0;
};

struct crew {
  struct member {
    crew* team;
    std::size_t id;
    pthread_t thread{};
  };

  explicit crew(std::size_t n) : num_threads(n), start(n), finish(n) {}

  static void* serve(void* argument) noexcept {
    const member& self = *static_cast<member*>(argument);
    for (crew& team = *self.team;;) {
      team.start.wait();
      if (!team.worker) return nullptr;
      team.errors.run(*team.worker, self.id);
      team.finish.wait();
    }
  }

  bool start_threads() {
    for (std::size_t id = 1; id < num_threads; ++id) {
      if (start_thread(id)) continue;
      end();
      return false;
    }
    return true;
  }

  bool start_thread(std::size_t id) {
    members.push_back({this, id});
    if (pthread_create(&members.back().thread, nullptr, serve, &members.back()) == 0) return true;
    members.pop_back();
    return false;
  }

  void end() noexcept {
    worker.reset();
    start.expect_only(members.size() + 1);
    start.wait();
    for (const member& one : members) pthread_join(one.thread, nullptr);
  }

  const std::size_t num_threads;
  detail::master_gate gate;
  detail::first_exception errors;
  std::optional<worker_ref> worker;
  barrier start;
  barrier finish;
  std::list<member> members;  // a list: each thread holds the address of its own
};

using pthread_team = detail::barrier_team<crew>;
static_assert(team<pthread_team>);

}  // namespace

any_team systems::make_pthread(std::size_t num_threads) {
  return any_team(pthread_team::create(num_threads));
}

}  // namespace corescale
