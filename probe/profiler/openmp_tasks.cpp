// SPDX-License-Identifier: Apache-2.0
// Tasks of OpenMP. Each function of a task has an entry here, which the runtime calls instead, with the same arguments.
#include <array>
#include <utility>

#include "profiler/profiler.hpp"

namespace corescale::profiler {
namespace {

// A task's function: GCC's has one argument, LLVM's has two. Passing more does no harm.
using Function = long(long, long);

constexpr std::size_t most_functions = 128;  // tasks of further functions count as the wait in which they run
std::atomic<Function*> functions[most_functions];

template <std::size_t k>
long entry(long first, long second) {
  const Task computing;
  return functions[k].load(std::memory_order_relaxed)(first, second);
}

template <std::size_t... k>
constexpr std::array<Function*, sizeof...(k)> entries_of(std::index_sequence<k...>) {
  return {entry<k>...};
}

constexpr auto entries = entries_of(std::make_index_sequence<most_functions>());

Function* entry_of(Function* wanted) {
  for (std::size_t tried = 0; wanted && tried < most_functions; ++tried) {
    const std::size_t k = (reinterpret_cast<std::uintptr_t>(wanted) / 16 + tried) % most_functions;
    Function* seen = functions[k].load(std::memory_order_relaxed);
    if (seen == wanted) return entries[k];
    if (seen) continue;
    if (functions[k].compare_exchange_strong(seen, wanted) || seen == wanted) return entries[k];
  }
  return wanted;
}

}  // namespace
}  // namespace corescale::profiler

using namespace corescale::profiler;

CORESCALE_EXPORT void GOMP_task(Function* body, long data, void* copy, long size, long alignment,
                                bool deferred, unsigned flags, void* depends, int priority, void* detached) {
  REAL_FROM(reinterpret_cast<void*>(body), GOMP_task,
            void(Function*, long, void*, long, long, bool, unsigned, void*, int, void*));
  if (!real_GOMP_task) return static_cast<void>(body(data, 0));  // see gomp() in openmp.cpp
  real_GOMP_task(entry_of(body), data, copy, size, alignment, deferred, flags, depends, priority, detached);
}

#define GOMP_TASKLOOP(name)                                                                               \
  CORESCALE_EXPORT void name(Function* body, void* data, void* copy, long size, long alignment,           \
                             unsigned flags, unsigned long tasks, int priority, long start, long end,     \
                             long step) {                                                                 \
    REAL_FROM(reinterpret_cast<void*>(body), name,                                                        \
              void(Function*, void*, void*, long, long, unsigned, unsigned long, int, long, long, long)); \
    if (real_##name)                                                                                      \
      real_##name(entry_of(body), data, copy, size, alignment, flags, tasks, priority, start, end, step); \
  }
GOMP_TASKLOOP(GOMP_taskloop)
GOMP_TASKLOOP(GOMP_taskloop_ull)

CORESCALE_EXPORT void* __kmpc_omp_task_alloc(void* place, std::int32_t thread, std::int32_t flags,
                                             std::size_t size, std::size_t shared, Function* body) {
  REAL_FROM(place, __kmpc_omp_task_alloc,
            void*(void*, std::int32_t, std::int32_t, std::size_t, std::size_t, Function*));
  return real___kmpc_omp_task_alloc
             ? real___kmpc_omp_task_alloc(place, thread, flags, size, shared, entry_of(body))
             : nullptr;
}
