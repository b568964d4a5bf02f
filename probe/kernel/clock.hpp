// SPDX-License-Identifier: Apache-2.0
// Seconds since an arbitrary moment, the same for every process of the machine and never set back.
#pragma once

#include <time.h>

namespace corescale::probe {

inline double seconds_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

inline double monotonic() { return seconds_of(CLOCK_MONOTONIC); }

}  // namespace corescale::probe
