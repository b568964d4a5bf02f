// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "corescale/machine/affinity.hpp"
#include "corescale/machine/topology.hpp"
#include "corescale/team/detail/team_core.hpp"
#include "corescale/team/team.hpp"

namespace corescale::inline v0::detail {

/// Prepares a team's threads before their first worker: names and pins each thread, and calls the program's on_thread_start.
class first_round {
 public:
  first_round(const char* system, std::size_t num_threads, const team_options& options);
  void operator()(std::size_t id) const;

 private:
  const char* system_;
  const team_options& options_;
  std::vector<cpu_place> places_;  // empty: not pinned
};

/// The common part of every team. It handles everything around a round; the Crew runs the round itself.
///
/// A Crew has
///   Crew(n, options)   may throw; need not start a thread.
///   bool start()       returns false, or throws, if it cannot have all n threads. If it cannot know that yet, the first round fails.
///   bool run(k, w)     makes one round of worker w on the ids 0 .. k - 1, by core.run(w, id, k) for each. Returns false if none was run.
///   bool run_anywhere(k, w)   the same, with each id on whichever thread comes first. A Crew need not have it.
///   ~Crew()            ends the threads that were started, however far start() came.
///   team_core core; const std::size_t num_threads;
///   static constexpr const char* name;   of its threads
///   static constexpr bool ids_stay;      whether each id is always on the same thread
template <class Crew>
class crewed_team {
 public:
  static std::unique_ptr<crewed_team> create(std::size_t num_threads);
  static std::unique_ptr<crewed_team> create(std::size_t num_threads, const team_options& options);
  ~crewed_team();
  crewed_team(const crewed_team&) = delete;
  crewed_team& operator=(const crewed_team&) = delete;

  [[nodiscard]] outcome work(worker_ref worker);
  [[nodiscard]] outcome work(std::size_t k, worker_ref worker);

  /// The same as work(k, worker), for workers that never wait for each other. In a `spin` team, another thread may run the share of a
  /// thread that comes late. With team_options::pin or on_thread_start, each share always runs on its own thread.
  [[nodiscard]] outcome work_anywhere(std::size_t k, worker_ref worker);
  [[nodiscard]] outcome release() noexcept;
  [[nodiscard]] outcome adopt();

  /// The same as adopt(), even if the master lives. The caller ensures that no two threads call it at once.
  [[nodiscard]] outcome take_over();
  std::size_t num_threads() const noexcept;

  /// The value of team_place::team inside its workers.
  const void* identity() const noexcept;

 private:
  explicit crewed_team(std::unique_ptr<Crew> crew) noexcept;
  template <class Round>
  outcome enter_and_run(std::size_t k, Round round);
  std::optional<pin_of_master> affinity_;  // set if the team is pinned
  std::unique_ptr<Crew> crew_;
};

// Defined outside of the class, so that a Crew may be an incomplete type where its team is declared `extern template`.

/// No process of Linux has more threads (PID_MAX_LIMIT).
inline constexpr std::size_t most_threads = std::size_t{1} << 22;

template <class Crew>
std::unique_ptr<crewed_team<Crew>> crewed_team<Crew>::create(std::size_t num_threads,
                                                             const team_options& options) {
  if (num_threads == 0 || num_threads > most_threads || (options.pin && !Crew::ids_stay)) return nullptr;
  std::unique_ptr<crewed_team> made;
  try {
    made.reset(new crewed_team(std::make_unique<Crew>(num_threads, options)));
    const affinity_before_pin while_threads_start;
    const first_round prepare(Crew::name, num_threads, options);
    if (!made->crew_->start()) return nullptr;
    if (options.pin) made->affinity_.emplace();
    if (!made->crew_->run(num_threads, prepare)) return nullptr;
  } catch (
      const std::exception&) {  // std::bad_alloc, std::system_error at the thread limit, or the library's own
    return nullptr;
  }
  made->crew_->core.rethrow();
  return made;
}

template <class Crew>
std::unique_ptr<crewed_team<Crew>> crewed_team<Crew>::create(std::size_t num_threads) {
  return create(num_threads, team_options());
}

template <class Crew>
crewed_team<Crew>::crewed_team(std::unique_ptr<Crew> crew) noexcept : crew_(std::move(crew)) {}

template <class Crew>
crewed_team<Crew>::~crewed_team() {
  // Its threads do not exist in this process, or one of them is calling exit().
  if (crew_->core.in_forked_child() || crew_->core.calling_thread_is_inside())
    static_cast<void>(crew_.release());
}

template <class Crew>
outcome crewed_team<Crew>::work(worker_ref worker) {
  return work(crew_->num_threads, worker);
}

template <class Crew>
outcome crewed_team<Crew>::work(std::size_t k, worker_ref worker) {
  return enter_and_run(k, [&](Crew& crew) { return crew.run(k, worker); });
}

template <class Crew>
outcome crewed_team<Crew>::work_anywhere(std::size_t k, worker_ref worker) {
  return enter_and_run(k, [&](Crew& crew) {
    if constexpr (requires { crew.run_anywhere(k, worker); })
      return crew.run_anywhere(k, worker);
    else
      return crew.run(k, worker);
  });
}

template <class Crew>
template <class Round>
outcome crewed_team<Crew>::enter_and_run(std::size_t k, Round round) {
  Crew& crew = *crew_;
  if (const outcome entered = crew.core.enter(); entered != outcome::done) [[unlikely]]
    return entered;
  const bool complete = k <= crew.num_threads && round(crew);
  crew.core.leave();
  crew.core.rethrow();
  return complete ? outcome::done : outcome::too_few_threads;
}

template <class Crew>
outcome crewed_team<Crew>::release() noexcept {
  return crew_->core.release();
}

template <class Crew>
outcome crewed_team<Crew>::adopt() {
  return crew_->core.adopt();
}

template <class Crew>
outcome crewed_team<Crew>::take_over() {
  return crew_->core.take_over();
}

template <class Crew>
std::size_t crewed_team<Crew>::num_threads() const noexcept {
  return crew_->num_threads;
}

template <class Crew>
const void* crewed_team<Crew>::identity() const noexcept {
  return static_cast<const master_gate*>(&crew_->core);
}

}  // namespace corescale::detail
