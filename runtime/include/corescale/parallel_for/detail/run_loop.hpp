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

/// A team of any type, referred to.
struct team_ref {
  void* team;
  std::size_t num_threads;
  bool (*work)(void* team, std::size_t k, worker_ref worker);  ///< false: refused, nothing was run

  template <class Team>
  static team_ref to(Team& crew) noexcept {
    return {&crew, crew.num_threads(), [](void* referred, std::size_t k, worker_ref worker) {
              return static_cast<Team*>(referred)->work(k, worker) == outcome::done;
            }};
  }
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
