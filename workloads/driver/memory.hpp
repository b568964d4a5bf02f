// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <limits>
#include <string>

#include "driver/error.hpp"

namespace driver {

/// Bytes that can still be allocated on this machine and in this control group; infinite if neither is known.
inline double available_memory() {
  double found = std::numeric_limits<double>::infinity();
  std::ifstream machine("/proc/meminfo");
  for (std::string line; std::getline(machine, line);)
    if (double kibibytes = 0; std::sscanf(line.c_str(), "MemAvailable: %lf", &kibibytes) == 1)
      found = kibibytes * 1024;
  double limit = 0, used = 0;
  const bool limited = static_cast<bool>(std::ifstream("/sys/fs/cgroup/memory.max") >> limit);
  if (limited && std::ifstream("/sys/fs/cgroup/memory.current") >> used)
    found = std::min(found, limit - used);
  return found;
}

/// Throws Error if `wanted` bytes are more than there are. `whose`: such as "50000 points".
inline void must_have_memory(double wanted, const std::string& whose, const std::string& remedy) {
  const double there = available_memory();
  if (wanted <= there) return;
  const auto gigabytes = [](double bytes) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3g GB", bytes * 1e-9);
    return std::string(text);
  };
  throw Error("memory", whose + " need " + gigabytes(wanted) + ", and " + gigabytes(there) + " are free",
              remedy);
}

}  // namespace driver
