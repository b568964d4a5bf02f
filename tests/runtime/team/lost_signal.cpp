// SPDX-License-Identifier: Apache-2.0
// Condition variables that lose every pthread_cond_signal(), as glibc's may lose one where several threads wait
// (its bug 25847, in 2.25 to 2.40): rounds of `ports`, whose threads wait in one place, end all the same.
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>

#include "corescale/team/any_team.hpp"

extern "C" [[gnu::visibility("default")]] int pthread_cond_signal(pthread_cond_t*) noexcept { return 0; }

int main() {
#ifdef __SANITIZE_THREAD__
  std::printf("skipped: ThreadSanitizer has a function of its own in that place\n");
  return 77;
#endif
  alarm(20);
  corescale::any_team crew = corescale::make_team(5, "ports");
  std::atomic<int> runs{0};
  for (int round = 0; crew && round < 1000; ++round)
    if (crew.work([&](std::size_t) { ++runs; }) != corescale::outcome::done) break;
  crew = corescale::any_team();
  std::printf("%d of 5000 runs\n", runs.load());
  return runs == 5000 ? 0 : 1;
}
