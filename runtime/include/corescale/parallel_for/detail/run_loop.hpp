// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "corescale/parallel_for/detail/loop_body.hpp"
#include "corescale/parallel_for/detail/source_place.hpp"
#include "corescale/parallel_for/loop_options.hpp"
#include "corescale/team/team.hpp"

// What the templates of parallel_for stand on: everything here is compiled once.
namespace corescale::inline v0::detail {

/// What a loop asks of a team, of whatever type.
struct team_calls {
  bool (*work)(void* team, std::size_t k, worker_ref worker);
  bool (*asleep)(const void* team, std::size_t k);
};

/// Of a team's own type; a function of that name that tells something else is not asked.
template <class Team>
concept tells_whether_asleep = requires(const Team& crew, std::size_t k) {
  { crew.asleep(k) } -> std::same_as<bool>;
};

template <class Team>
bool work_of(void* team, std::size_t k, worker_ref worker) {
  return static_cast<Team*>(team)->work(k, worker) == outcome::done;
}

template <class Team>
bool asleep_of([[maybe_unused]] const void* team, [[maybe_unused]] std::size_t k) {
  if constexpr (tells_whether_asleep<Team>)
    return static_cast<const Team*>(team)->asleep(k);
  else
    return false;
}

template <class Team>
inline constexpr team_calls calls_of{work_of<Team>, asleep_of<Team>};

/// A team of any type, referred to.
struct team_ref {
  void* team;
  std::size_t num_threads;
  const team_calls* calls;

  template <class Team>
  static team_ref to(Team& crew) noexcept {
    return {&crew, crew.num_threads(), &calls_of<Team>};
  }

  /// False: refused, nothing was run.
  bool work(std::size_t k, worker_ref worker) const { return calls->work(team, k, worker); }

  /// Whether that would now have to wake a thread by the kernel; false where the team does not tell.
  bool asleep(std::size_t k) const { return calls->asleep(team, k); }
};

/// A place that loops, as a number: what is learned there is kept under it.
std::uint64_t call_site(const source_place& here, const void* body_type) noexcept;

/// Differs between types.
template <class T>
inline constexpr char type_mark = 0;

/// The loop. What leaves a body leaves this call, after all threads have ended; no block is claimed after it.
void run_loop(const team_ref& team, std::uint64_t n, const loop_body& body, const loop_options& options,
              std::uint64_t site);

}  // namespace corescale::detail
