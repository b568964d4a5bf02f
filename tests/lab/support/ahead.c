// SPDX-License-Identifier: Apache-2.0
// Preloaded into a daemon: its clock is AHEAD seconds ahead. It waits by other clocks, which are right.

#define _GNU_SOURCE
#include <time.h>

time_t time(time_t* out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  now.tv_sec += AHEAD;
  if (out) *out = now.tv_sec;
  return now.tv_sec;
}
