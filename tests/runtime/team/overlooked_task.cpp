// SPDX-License-Identifier: Apache-2.0
// A oneTBB that overlooks every task that is spawned until one is enqueued, as it may (its arena.h, advertise_new_work):
// a team is made, and its rounds end.
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <utility>
#include <vector>

#include "corescale/team/any_team.hpp"

namespace {

std::mutex mutex;
std::vector<std::pair<void*, void*>> overlooked;

template <class Function>
Function* of_tbb(const char* name) {
  return reinterpret_cast<Function*>(dlsym(dlopen("libtbb.so.12", RTLD_NOW | RTLD_NOLOAD), name));
}

}  // namespace

// In oneTBB's place: r1::spawn(task&, context&) and r1::enqueue(task&, arena*).
extern "C" {
#define CORESCALE_SPAWN "_ZN3tbb6detail2r15spawnERNS0_2d14taskERNS2_18task_group_contextE"
#define CORESCALE_ENQUEUE "_ZN3tbb6detail2r17enqueueERNS0_2d14taskEPNS2_15task_arena_baseE"

[[gnu::visibility("default")]] void spawn(void* task, void* context) asm(CORESCALE_SPAWN);
[[gnu::visibility("default")]] void enqueue(void* task, void* arena) asm(CORESCALE_ENQUEUE);

void spawn(void* task, void* context) {
  const std::scoped_lock lock(mutex);
  overlooked.emplace_back(task, context);
}

void enqueue(void* task, void* arena) {
  static auto* const real_spawn = of_tbb<void(void*, void*)>(CORESCALE_SPAWN);
  static auto* const real_enqueue = of_tbb<void(void*, void*)>(CORESCALE_ENQUEUE);
  {
    const std::scoped_lock lock(mutex);
    for (const auto& [one, context] : overlooked) real_spawn(one, context);
    overlooked.clear();
  }
  real_enqueue(task, arena);
}
}

int main() {
  using clock = std::chrono::steady_clock;
  if (!corescale::find_threading_system("tbb")->is_present()) return 77;
  alarm(60);
  const auto start = clock::now();
  corescale::any_team crew = corescale::make_team(3, "tbb");
  std::atomic<int> runs{0};
  for (int round = 0; crew && round < 3; ++round)
    if (crew.work([&](std::size_t) { ++runs; }) != corescale::outcome::done) break;
  const double seconds = std::chrono::duration<double>(clock::now() - start).count();
  std::printf("%d of 9 runs in %.2f s\n", runs.load(), seconds);
  return runs == 9 && seconds < 8 ? 0 : 1;  // 10 s: a team whose threads did not come is given up
}
