// SPDX-License-Identifier: Apache-2.0
#include "corescale/parallel_for/default_team.hpp"

#include "corescale/machine/topology.hpp"
#include "corescale/team/any_team.hpp"
#include "corescale/team/calling_thread.hpp"

namespace corescale::inline v0 {
namespace {

// Never destroyed, so that a loop in a destructor of static storage still finds it.
any_team& threads() {
  static any_team* const only = new any_team(make_team(usable_cores()));
  return *only;
}

}  // namespace

outcome process_wide_team::work(std::size_t k, worker_ref worker) {
  if (in_parallel()) return outcome::nested;
  const outcome first = threads().work(k, worker);
  return first == outcome::not_master && threads().adopt() == outcome::done ? threads().work(k, worker)
                                                                            : first;
}

std::size_t process_wide_team::num_threads() const noexcept { return threads().num_threads(); }

process_wide_team& default_team() {
  static process_wide_team only;
  return only;
}

}  // namespace corescale
