// SPDX-License-Identifier: Apache-2.0
// Reaching the thread limit: create() is null, nothing is left behind, and smaller teams still work.
// The limit is one on address space (RLIMIT_AS), which makes pthread_create fail for every user; a limit on processes does not
// bind root.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>

#include "corescale/team/any_team.hpp"

namespace {

using corescale::threading_system;

std::ptrdiff_t threads_alive() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"),
                       std::filesystem::directory_iterator());
}

rlim_t address_space() {
  rlim_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
}

void leave_room_for(std::size_t threads) {
  constexpr rlim_t stack = rlim_t{8} << 20;
  const rlim_t most = address_space() + stack * threads + stack / 2;
  const rlimit limit{most, most};
  setrlimit(RLIMIT_AS, &limit);
}

/// In a process of its own. 0 when all is well, else the number of the expectation that failed.
int try_at_the_limit(const threading_system& system) {
  const rlimit stack{rlim_t{8} << 20, RLIM_INFINITY};
  setrlimit(RLIMIT_STACK, &stack);
  if (!system.create(1)) return 5;  // its library is loaded by now
  const std::ptrdiff_t before = threads_alive();
  leave_room_for(4);
  for (int tries = 0; tries < 20; ++tries)
    if (system.create(64)) return 1;
  for (int tries = 0; tries < 200 && threads_alive() > before; ++tries) usleep(5000);
  if (threads_alive() > before) return 2;
  corescale::any_team small = system.create(2);
  if (!small) return 3;
  int calls[2] = {0, 0};
  if (small.work([&](std::size_t id) { ++calls[id]; }) != corescale::outcome::done || calls[0] != 1 ||
      calls[1] != 1)
    return 4;
  return 0;
}

int status_of_child(const threading_system& system) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(try_at_the_limit(system));
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

}  // namespace

int main() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  std::puts("skipped: a sanitizer needs more address space than the limit leaves");
  return 77;
#endif
  int failures = 0;
  for (const threading_system& system : corescale::threading_systems()) {
    if (!system.is_present() || system.name == "serial") continue;
    const int status = status_of_child(system);
    std::printf("%-8s %s (status %d)\n", system.name.data(), status == 0 ? "good" : "FAILED", status);
    failures += status != 0;
  }
  return failures == 0 ? 0 : 1;
}
