// SPDX-License-Identifier: Apache-2.0
// Waits inside OpenMP regions: barriers, critical sections and locks. Without a runtime there is no other thread to wait for.
#include "profiler/profiler.hpp"

namespace corescale::profiler {
namespace {

// The number of threads inside, or waiting for, the critical sections of each name. If a thread is the only one, it does not wait.
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
  if (!real_GOMP_barrier) return;
  const Wait wait(barrier);
  real_GOMP_barrier();
}

CORESCALE_EXPORT void GOMP_loop_end() {
  REAL(GOMP_loop_end, void());
  if (!real_GOMP_loop_end) return;
  const Wait wait(barrier);
  real_GOMP_loop_end();
}

CORESCALE_EXPORT void GOMP_sections_end() {
  REAL(GOMP_sections_end, void());
  if (!real_GOMP_sections_end) return;
  const Wait wait(barrier);
  real_GOMP_sections_end();
}

CORESCALE_EXPORT void __kmpc_barrier(void* place, std::int32_t thread) {
  REAL_FROM(place, __kmpc_barrier, void(void*, std::int32_t));
  if (!real___kmpc_barrier) return;
  const Wait wait(barrier);
  real___kmpc_barrier(place, thread);
}

CORESCALE_EXPORT void GOMP_critical_start() {
  REAL(GOMP_critical_start, void());
  if (real_GOMP_critical_start) enter(nullptr, real_GOMP_critical_start);
}

CORESCALE_EXPORT void GOMP_critical_end() {
  REAL(GOMP_critical_end, void());
  if (!real_GOMP_critical_end) return;
  those_inside(nullptr).fetch_sub(1, std::memory_order_relaxed);
  real_GOMP_critical_end();
}

CORESCALE_EXPORT void GOMP_critical_name_start(void** name) {
  REAL(GOMP_critical_name_start, void(void**));
  if (real_GOMP_critical_name_start) enter(name, [=] { real_GOMP_critical_name_start(name); });
}

CORESCALE_EXPORT void GOMP_critical_name_end(void** name) {
  REAL(GOMP_critical_name_end, void(void**));
  if (!real_GOMP_critical_name_end) return;
  those_inside(name).fetch_sub(1, std::memory_order_relaxed);
  real_GOMP_critical_name_end(name);
}

CORESCALE_EXPORT void __kmpc_critical(void* place, std::int32_t thread, void* name) {
  REAL_FROM(place, __kmpc_critical, void(void*, std::int32_t, void*));
  if (real___kmpc_critical) enter(name, [=] { real___kmpc_critical(place, thread, name); });
}

CORESCALE_EXPORT void __kmpc_end_critical(void* place, std::int32_t thread, void* name) {
  REAL_FROM(place, __kmpc_end_critical, void(void*, std::int32_t, void*));
  if (!real___kmpc_end_critical) return;
  those_inside(name).fetch_sub(1, std::memory_order_relaxed);
  real___kmpc_end_critical(place, thread, name);
}

CORESCALE_EXPORT void omp_set_lock(void* lock) {
  static constinit Next<int(void*)> test_lock("omp_test_lock");
  REAL(omp_set_lock, void(void*));
  if (!real_omp_set_lock) return;
  auto* const test = local.thread ? test_lock.beside(reinterpret_cast<void*>(real_omp_set_lock)) : nullptr;
  if (!test || !test(lock)) {
    const Wait wait(locking);
    real_omp_set_lock(lock);
  }
}
