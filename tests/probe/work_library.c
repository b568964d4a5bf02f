/* SPDX-License-Identifier: Apache-2.0
 * A library whose one function computes: FUNCTION is its name, so that two libraries differ in nothing else. */
#include <time.h>

__attribute__((noinline)) static void FUNCTION(double seconds) {
  struct timespec time;
  double until = 0, now;
  volatile double sum = 1;
  do {
    for (int i = 0; i < 2000; ++i) sum = sum * 1.0000001 + 1e-9;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    now = (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
    if (until == 0) until = now + seconds;
  } while (now < until);
}

__attribute__((visibility("default"))) void work(double seconds) { FUNCTION(seconds); }
