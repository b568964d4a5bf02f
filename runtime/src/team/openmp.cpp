// SPDX-License-Identifier: Apache-2.0
#include <omp.h>

#include <climits>

#include "helpers.hpp"
#include "systems.hpp"

namespace corescale {
namespace {

// OpenMP libraries end the process when they cannot start a thread, and hang in a fork() of a process that
// used them.
detail::one_process users;

/// A parallel region per round. OpenMP owns the threads: they are kept in its pool after the team ends, and
/// used again by the next. num_threads is at most OMP_THREAD_LIMIT. Reaching the process's own thread limit
/// is found by starting plain threads first: best effort. No team inside an active parallel region of the
/// program, unless it allows nesting.
class openmp_team {
 public:
  static std::unique_ptr<openmp_team> create(std::size_t num_threads) {
    if (num_threads == 0 || num_threads > static_cast<std::size_t>(omp_get_thread_limit())) return nullptr;
    if (!users.enter() || !detail::can_start_threads(num_threads - 1)) return nullptr;
    auto made = std::make_unique<openmp_team>(static_cast<int>(num_threads));
    return made->work([](std::size_t) {}) ? std::move(made)
                                          : nullptr;  // OpenMP makes its threads at the first use
  }

  explicit openmp_team(int num_threads) noexcept : num_threads_(num_threads) {}

  bool work(worker_ref worker) {
    if (!gate_.enter()) return false;
    const int dynamic = omp_get_dynamic();
    omp_set_dynamic(0);  // or OpenMP may give fewer threads
    const bool complete = run_region(worker);
    omp_set_dynamic(dynamic);
    gate_.leave();
    errors_.rethrow();
    return complete;
  }

  std::size_t num_threads() const noexcept { return static_cast<std::size_t>(num_threads_); }

 private:
  bool run_region(worker_ref worker) noexcept {
    bool complete = true;
#pragma omp parallel num_threads(num_threads_)
    {
      if (omp_get_num_threads() == num_threads_) {
        errors_.run(worker, static_cast<std::size_t>(omp_get_thread_num()));
      } else if (omp_get_thread_num() == 0) {
        complete = false;
      }
    }
    return complete;
  }

  const int num_threads_;
  detail::master_gate gate_;
  detail::first_exception errors_;
};

static_assert(team<openmp_team>);

}  // namespace

any_team systems::make_openmp(std::size_t num_threads) { return any_team(openmp_team::create(num_threads)); }

}  // namespace corescale
