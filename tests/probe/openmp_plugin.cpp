// SPDX-License-Identifier: Apache-2.0
// A library with parallel regions: `wrong` counts what its own runtime did not do as it should.
#include <omp.h>

#include <vector>

extern "C" __attribute__((visibility("default"))) int wrong(int threads) {
  std::vector<int> seen(static_cast<std::size_t>(threads));
  int inside = 0, after = 0, wrong = 0;
  omp_lock_t lock;
  omp_init_lock(&lock);
#pragma omp parallel num_threads(threads)
  {
    if (omp_get_num_threads() == threads) ++seen[static_cast<std::size_t>(omp_get_thread_num())];
#pragma omp critical
    ++inside;
#pragma omp barrier
    if (inside == threads) {
      omp_set_lock(&lock);
      ++after;
      omp_unset_lock(&lock);
    }
  }
  omp_destroy_lock(&lock);
  for (const int times : seen) wrong += times != 1;
  return wrong + (after != threads);
}
