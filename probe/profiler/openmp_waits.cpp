// SPDX-License-Identifier: Apache-2.0
// Waiting inside OpenMP's regions: barriers, critical sections and locks.
#include "profiler/profiler.hpp"

namespace corescale::profiler {
namespace {

// How many threads are in, or before, the critical sections of each name: whoever is alone there does not wait.
std::atomic<int> inside[256];
std::atomic<int>& those_inside(const void* name) {
  return inside[(reinterpret_cast<std::uintptr_t>(name) >> 3) % 256];
}

template <class Enter>
void enter(const void* name, Enter call) {
  if (those_inside(name).fetch_add(1, std::memory_order_relaxed) == 0) return call();
  const Wait wait(locking);
  call();
}

}  // namespace
}  // namespace corescale::profiler

using namespace corescale::profiler;

CORESCALE_EXPORT void GOMP_barrier() {
  REAL(GOMP_barrier, void());
  const Wait wait(barrier);
  real_GOMP_barrier();
}

CORESCALE_EXPORT void GOMP_loop_end() {
  REAL(GOMP_loop_end, void());
  const Wait wait(barrier);
  real_GOMP_loop_end();
}

CORESCALE_EXPORT void GOMP_sections_end() {
  REAL(GOMP_sections_end, void());
  const Wait wait(barrier);
  real_GOMP_sections_end();
}

CORESCALE_EXPORT void __kmpc_barrier(void* place, std::int32_t thread) {
  REAL(__kmpc_barrier, void(void*, std::int32_t));
  const Wait wait(barrier);
  real___kmpc_barrier(place, thread);
}

CORESCALE_EXPORT void GOMP_critical_start() {
  REAL(GOMP_critical_start, void());
  enter(nullptr, real_GOMP_critical_start);
}

CORESCALE_EXPORT void GOMP_critical_end() {
  REAL(GOMP_critical_end, void());
  those_inside(nullptr).fetch_sub(1, std::memory_order_relaxed);
  real_GOMP_critical_end();
}

CORESCALE_EXPORT void GOMP_critical_name_start(void** name) {
  REAL(GOMP_critical_name_start, void(void**));
  enter(name, [=] { real_GOMP_critical_name_start(name); });
}

CORESCALE_EXPORT void GOMP_critical_name_end(void** name) {
  REAL(GOMP_critical_name_end, void(void**));
  those_inside(name).fetch_sub(1, std::memory_order_relaxed);
  real_GOMP_critical_name_end(name);
}

CORESCALE_EXPORT void __kmpc_critical(void* place, std::int32_t thread, void* name) {
  REAL(__kmpc_critical, void(void*, std::int32_t, void*));
  enter(name, [=] { real___kmpc_critical(place, thread, name); });
}

CORESCALE_EXPORT void __kmpc_end_critical(void* place, std::int32_t thread, void* name) {
  REAL(__kmpc_end_critical, void(void*, std::int32_t, void*));
  those_inside(name).fetch_sub(1, std::memory_order_relaxed);
  real___kmpc_end_critical(place, thread, name);
}

CORESCALE_EXPORT void omp_set_lock(void* lock) {
  REAL(omp_test_lock, int(void*));
  REAL(omp_set_lock, void(void*));
  if (!local.thread || !real_omp_test_lock || !real_omp_test_lock(lock)) {
    const Wait wait(locking);
    real_omp_set_lock(lock);
  }
}
