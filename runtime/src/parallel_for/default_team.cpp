// SPDX-License-Identifier: Apache-2.0
#include "corescale/parallel_for/default_team.hpp"

#include <atomic>
#include <cstdint>
#include <utility>

#include "corescale/machine/topology.hpp"
#include "corescale/team/any_team.hpp"
#include "corescale/team/calling_thread.hpp"
#include "corescale/team/detail/team_core.hpp"

namespace corescale::inline v0 {
namespace {

constinit std::atomic<any_team*> made{
    nullptr};  // never destroyed: a loop in a destructor of static storage still finds it
constinit std::atomic<std::uint64_t> maker{~std::uint64_t{0}};  // the fork_generation() of whoever makes it

/// Null while another thread makes it: nobody waits for it, as a child of fork() would wait for a thread that it does not have.
any_team* threads() {
  if (any_team* const known = made.load(std::memory_order_acquire)) return known;
  std::uint64_t before = maker.load(std::memory_order_relaxed);
  const std::uint64_t now = detail::fork_generation();
  if (before == now || !maker.compare_exchange_strong(before, now, std::memory_order_acq_rel))
    return made.load(std::memory_order_acquire);
  any_team team;
  try {
    team = make_team(usable_cores());
    made.store(new any_team(std::move(team)), std::memory_order_release);
  } catch (...) {
    maker.store(~now, std::memory_order_release);
    throw;
  }
  return made.load(std::memory_order_relaxed);
}

}  // namespace

outcome process_wide_team::work(std::size_t k, worker_ref worker) {
  if (in_parallel()) return outcome::nested;
  any_team* const team = threads();
  if (!team) return outcome::not_master;
  const outcome first = team->work(k, worker);
  return first == outcome::not_master && team->adopt() == outcome::done ? team->work(k, worker) : first;
}

std::size_t process_wide_team::num_threads() const noexcept {
  const any_team* const team = threads();
  return team ? team->num_threads() : 1;
}

bool process_wide_team::asleep(std::size_t k) const noexcept {
  const any_team* const team = made.load(std::memory_order_acquire);
  return team && team->asleep(k);
}

process_wide_team& default_team() {
  static process_wide_team only;
  return only;
}

}  // namespace corescale
