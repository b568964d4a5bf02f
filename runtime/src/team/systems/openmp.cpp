// SPDX-License-Identifier: Apache-2.0
#include <omp.h>

#include "corescale/team/detail/crewed_team.hpp"
#include "foreign_threads.hpp"
#include "systems.hpp"

namespace corescale::inline v0 {
namespace {

// OpenMP libraries end the process if they cannot start a thread, and hang in a child of fork() if the parent used them.
detail::one_process users;

/// While this lives, OpenMP provides exactly the number of threads that was asked for, or none.
class exact_number {
 public:
  exact_number() noexcept { omp_set_dynamic(0); }
  ~exact_number() { omp_set_dynamic(before_); }
  exact_number(const exact_number&) = delete;
  exact_number& operator=(const exact_number&) = delete;

 private:
  const int before_ = omp_get_dynamic();
};

/// A parallel region per round.
/// OpenMP owns the threads. After the team ends, they stay in OpenMP's pool, and the next team uses them.
/// After work(k, worker) libgomp ends the threads beyond k, and makes them again when they are needed.
/// num_threads is at most OMP_THREAD_LIMIT.
/// Whether the process's own thread limit is reached is found by starting plain threads first. This is best effort.
/// Inside an active parallel region of the program there is no team, unless the program allows nesting.
struct crew {
  crew(std::size_t n, const team_options&) : num_threads(n) {}

  bool start() const noexcept {
    return num_threads <= static_cast<std::size_t>(omp_get_thread_limit()) && users.enter() &&
           detail::can_start_threads(num_threads - 1);
  }

  bool run(std::size_t k, worker_ref worker) noexcept {
    const exact_number meanwhile;
    const int wanted = static_cast<int>(k);
    bool complete = true;
    if (k == 0) return complete;
#pragma omp parallel num_threads(wanted)
    {
      if (omp_get_num_threads() == wanted) {
        core.run(worker, static_cast<std::size_t>(omp_get_thread_num()), k);
      } else if (omp_get_thread_num() == 0) {
        complete = false;
      }
    }
    return complete;
  }

  static constexpr const char* name = "openmp";
  static constexpr bool ids_stay = false;
  detail::team_core core;
  const std::size_t num_threads;
};

using openmp_team = detail::crewed_team<crew>;
static_assert(team<openmp_team>);

}  // namespace

any_team systems::make_openmp(std::size_t num_threads, const team_options& options) {
  return any_team(openmp_team::create(num_threads, options));
}

}  // namespace corescale

CORESCALE_ENTRY_POINT(openmp)
