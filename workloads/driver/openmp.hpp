// SPDX-License-Identifier: Apache-2.0
#pragma once

#ifdef _OPENMP
#include <omp.h>
#endif

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <string_view>

namespace driver {

/// Threads that work at once in a parallel region; 1 if the compiler had no OpenMP.
inline int team_size() {
#ifdef _OPENMP
  return omp_get_num_threads();
#else
  return 1;
#endif
}

/// The number of the calling thread in its parallel region, from 0.
inline int thread_number() {
#ifdef _OPENMP
  return omp_get_thread_num();
#else
  return 0;
#endif
}

/// Threads of the next parallel region, as OMP_NUM_THREADS and OMP_THREAD_LIMIT say.
inline int most_threads() {
#ifdef _OPENMP
  return std::min(omp_get_max_threads(), omp_get_thread_limit());
#else
  return 1;
#endif
}

enum class Schedule {
  blocks,      ///< static: each thread has its part, always the same
  one_by_one,  ///< dynamic,1: a thread that is free takes the next
};

/// The meaning of schedule(runtime) if OMP_SCHEDULE is unset. Without OpenMP, says so if threads were asked
/// for.
inline void choose_schedule([[maybe_unused]] std::string_view program, [[maybe_unused]] Schedule schedule) {
#ifdef _OPENMP
  if (std::getenv("OMP_SCHEDULE") != nullptr) return;
  if (schedule == Schedule::blocks)
    omp_set_schedule(omp_sched_static, 0);
  else
    omp_set_schedule(omp_sched_dynamic, 1);
#else
  if (const char* threads = std::getenv("OMP_NUM_THREADS"); threads && std::string_view(threads) != "1")
    std::cerr << program << ": built without OpenMP; runs on one thread\n";
#endif
}

}  // namespace driver
