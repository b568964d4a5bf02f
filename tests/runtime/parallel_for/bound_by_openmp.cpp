// SPDX-License-Identifier: Apache-2.0
// A program under OMP_PROC_BIND=true, whose first thread libgomp has pinned: the default team has the other cores all the same, before
// the first region and behind it.
#include <omp.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdio>

#include "corescale/parallel_for/parallel_for.hpp"

namespace {

using namespace corescale;

int cpus_of_this_thread() {
  cpu_set_t own;
  return sched_getaffinity(0, sizeof own, &own) == 0 ? CPU_COUNT(&own) : 0;
}

int failures = 0;

void expect(int seen, int wanted, const char* what) {
  if (seen == wanted) return;
  std::printf("%s: %d, not %d\n", what, seen, wanted);
  ++failures;
}

/// The CPUs that a thread of the default team may use, and the number of its threads.
void expect_all_cores(int all) {
  expect(static_cast<int>(default_team().num_threads()), all, "threads of the default team");
  std::atomic<int> least{all};
  const outcome worked = default_team().work(default_team().num_threads(), [&](std::size_t id) {
    if (id > 0) least = std::min(least.load(), cpus_of_this_thread());
  });
  expect(worked == outcome::done ? least.load() : 0, all, "CPUs of each of them");
}

}  // namespace

int main() {
  const int all = omp_get_num_procs();
  if (all < 2) return std::puts("not decided: needs two cores"), 77;
  if (cpus_of_this_thread() == all) return std::puts("not decided: this OpenMP pins no thread yet"), 77;
  expect_all_cores(all);
#ifndef __SANITIZE_THREAD__  // g++'s does not see into libgomp
#pragma omp parallel
  cpus_of_this_thread();
  expect_all_cores(all);
#endif
  return failures > 0 ? 1 : 0;
}
