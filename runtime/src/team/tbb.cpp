// SPDX-License-Identifier: Apache-2.0
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <algorithm>
#include <climits>
#include <mutex>

#include "helpers.hpp"
#include "systems.hpp"

namespace corescale {
namespace {

using tbb::global_control;
using namespace std::chrono_literals;

// oneTBB's threads do not survive fork().
detail::one_process users;

/// oneTBB applies the least of all limits alive, so the teams of a process share one: the largest any of them
/// asked for. It is never lowered while a team lives. A smaller global_control of the program's own still
/// binds: create() is then null.
class shared_limit {
 public:
  explicit shared_limit(std::size_t num_threads) {
    const std::scoped_lock lock(mutex);
    ++holders;
    if (control && allowed >= num_threads) return;
    control.reset();
    allowed = std::max(num_threads, global_control::active_value(global_control::max_allowed_parallelism));
    control = std::make_unique<global_control>(global_control::max_allowed_parallelism, allowed);
  }
  ~shared_limit() {
    const std::scoped_lock lock(mutex);
    if (--holders == 0) control.reset();
  }
  shared_limit(const shared_limit&) = delete;
  shared_limit& operator=(const shared_limit&) = delete;

  static bool allows(std::size_t num_threads) {
    return global_control::active_value(global_control::max_allowed_parallelism) >= num_threads;
  }

 private:
  static inline std::mutex mutex;
  static inline std::size_t holders = 0;
  static inline std::size_t allowed = 0;
  static inline std::unique_ptr<global_control> control;
};

struct crew {
  explicit crew(std::size_t n)
      : limit(n), num_threads(n), spin_for(detail::spin_time(n, 1ms)), arena(static_cast<int>(n), 1) {}

  shared_limit limit;
  const std::size_t num_threads;
  const std::chrono::nanoseconds spin_for;  // oneTBB's workers linger for 1 ms too
  detail::master_gate gate;
  detail::first_exception errors;
  tbb::task_arena arena;
};

/// One task per thread and round, in an arena of n slots. A task waits until all n have started, so that no
/// thread of oneTBB takes two. oneTBB owns the threads and keeps them after the team ends. Threads of oneTBB
/// that other arenas hold are waited for. Limits (fork(), at most 256 threads or 4 per core, the process's
/// thread limit) are found when the team is made, by starting plain threads and then one round with a time
/// limit: best effort.
class tbb_team {
 public:
  static std::unique_ptr<tbb_team> create(std::size_t num_threads) {
    if (num_threads == 0 || num_threads > INT_MAX) return nullptr;
    if (!users.enter() || !detail::can_start_threads(num_threads - 1)) return nullptr;
    auto made = std::make_unique<tbb_team>(num_threads);
    return shared_limit::allows(num_threads) && made->gathers_within(10s) ? std::move(made) : nullptr;
  }

  explicit tbb_team(std::size_t num_threads) : crew_(std::make_unique<crew>(num_threads)) {}
  ~tbb_team() {
    if (crew_->gate.in_forked_child()) static_cast<void>(crew_.release());  // its arena has no threads here
  }
  tbb_team(const tbb_team&) = delete;
  tbb_team& operator=(const tbb_team&) = delete;

  bool work(worker_ref worker) {
    if (!crew_->gate.enter()) return false;
    const bool complete = shared_limit::allows(crew_->num_threads);
    if (complete) run_round(worker);
    crew_->gate.leave();
    crew_->errors.rethrow();
    return complete;
  }

  std::size_t num_threads() const noexcept { return crew_->num_threads; }

 private:
  void run_round(worker_ref worker) {
    detail::countdown_latch all_started(crew_->num_threads);
    const auto member = [&](std::size_t id) {
      all_started.arrive_and_wait(crew_->spin_for);
      crew_->errors.run(worker, id);
    };
    crew_->arena.execute([&] {
      tbb::task_group others;
      for (std::size_t id = 1; id < crew_->num_threads; ++id) others.run([&member, id] { member(id); });
      member(0);
      others.wait();
    });
  }

  bool gathers_within(std::chrono::seconds limit) {
    detail::countdown_latch all_started(crew_->num_threads);
    std::atomic<bool> complete{true};
    const auto member = [&] {
      all_started.arrive();
      if (complete && !all_started.wait_at_most(limit)) complete = false;
    };
    crew_->arena.execute([&] {
      tbb::task_group others;
      for (std::size_t id = 1; id < crew_->num_threads; ++id) others.run(member);
      member();
      others.wait();
    });
    return complete;
  }

  std::unique_ptr<crew> crew_;
};

static_assert(team<tbb_team>);

}  // namespace

any_team systems::make_tbb(std::size_t num_threads) { return any_team(tbb_team::create(num_threads)); }

}  // namespace corescale
