// SPDX-License-Identifier: Apache-2.0
// fork() while another thread is in the first loop of its process, which makes the process-wide team: the child's loops run, and end.
// A process for each moment of the fork, as a team is made once.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

#include "../children.hpp"
#include "corescale/parallel_for/parallel_for.hpp"

namespace {

using namespace std::chrono_literals;

bool loop_is_whole() {
  std::atomic<int> runs{0};
  corescale::parallel_for(0, 1000, [&](int) { ++runs; });
  return runs == 1000;
}

bool child_of_a_fork_ends(std::chrono::microseconds after) {
  std::atomic<bool> started{false};
  std::thread first([&] {
    started = true;
    loop_is_whole();
  });
  while (!started) {
  }
  for (const auto begin = std::chrono::steady_clock::now();
       std::chrono::steady_clock::now() - begin < after;) {
  }
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    _exit(loop_is_whole() ? 0 : 1);
  }
  const bool good = ends_well(child);
  first.join();
  return good;
}

}  // namespace

int main() {
#ifdef __SANITIZE_THREAD__
  std::printf("skipped: ThreadSanitizer does not follow threads that a child of a threaded process starts\n");
  return 77;
#endif
  int failures = 0;
  for (auto after = 0us; after <= 600us; after += 25us) {
    const pid_t process = fork();
    if (process == 0) _exit(child_of_a_fork_ends(after) ? 0 : 1);
    if (ends_well(process)) continue;
    ++failures;
    std::printf("FAILED: fork %d us after the first loop began\n", static_cast<int>(after.count()));
    std::fflush(stdout);  // what is left in it, the next child would print too
  }
  return failures != 0;
}
