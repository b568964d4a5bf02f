// SPDX-License-Identifier: Apache-2.0
// fork() while another thread is in the middle of its process's first use of teams, or of memory: a child's own first use ends.
// Making a key and the first operator new take a while here, so that the fork() comes in between.
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <thread>

#include "../children.hpp"
#include "corescale/memory/thread_alloc.hpp"
#include "corescale/team/process_team.hpp"
#include "corescale/team/spin.hpp"

namespace {

enum class moment { none, key, memory };
constinit thread_local moment slow = moment::none;
std::atomic<bool> in_between{false};

void take_a_while(moment now) {
  if (slow != now) return;
  slow = moment::none;  // once
  in_between = true;
  usleep(300'000);
}

}  // namespace

extern "C" [[gnu::visibility("default")]] int pthread_key_create(pthread_key_t* key,
                                                                 void (*end)(void*)) noexcept {
  static auto* const real =
      reinterpret_cast<int (*)(pthread_key_t*, void (*)(void*))>(dlsym(RTLD_NEXT, "pthread_key_create"));
  take_a_while(moment::key);
  return real(key, end);
}

void* operator new(std::size_t bytes) {
  take_a_while(moment::memory);
  if (void* const memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace {

bool use_team() { return corescale::spin_team::create(2) != nullptr; }

bool use_process_team() {
  return corescale::team_create(2) && corescale::team_work([] {}) && corescale::team_destroy();
}

bool use_memory() {
  std::size_t capacity = 0;
  void* const memory = corescale::thread_alloc::get_memory(100, capacity);
  corescale::thread_alloc::return_memory(memory);
  return memory != nullptr;
}

/// Of a process that has used nothing yet.
bool child_ends(bool (*use)(), moment when) {
  std::thread first([=] {
    slow = when;
    use();
    in_between = true;  // also where that moment never comes
  });
  while (!in_between) {
  }
  const pid_t child = fork();
  if (child == 0) {
    alarm(10);
    _exit(use() ? 0 : 1);
  }
  const bool good = ends_well(child);
  first.join();
  return good;
}

struct row {
  const char* name;
  bool (*use)();
};
constexpr row uses[] = {
    {"a team", use_team},
    {"the process's team", use_process_team},
    {"memory", use_memory},
};

}  // namespace

int main() {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  std::printf("skipped: sanitizers have functions of their own in these places\n");
  return 77;
#endif
  int failures = 0;
  for (const row& one : uses) {
    for (const moment when : {moment::key, moment::memory}) {
      const pid_t process = fork();
      if (process == 0) _exit(child_ends(one.use, when) ? 0 : 1);
      if (ends_well(process)) continue;
      ++failures;
      std::printf("FAILED: %s, fork() while %s\n", one.name,
                  when == moment::key ? "a key is made" : "memory is asked for");
      std::fflush(stdout);  // what is left in it, the next child would print too
    }
  }
  return failures != 0;
}
