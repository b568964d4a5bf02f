// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <limits>
#include <string>

#include "driver/error.hpp"
#include "driver/ranks.hpp"
#include "pairwise_clustering/distances.hpp"

namespace pairwise_clustering {

/// What the clustering takes, in bytes, of all ranks together: the matrix, and at most 15% of it and 64 MB a rank beside it.
inline double memory_bound(std::size_t n, Precision precision, int ranks) {
  return 1.15 * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(bytes_of(precision)) +
         64e6 * ranks;
}

/// Bytes that this machine and this control group can still give; infinite where neither says.
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

/// Throws Error when the ranks of this machine would not find room. Call before anything is read.
inline void check_memory(std::size_t n, Precision precision, const driver::Ranks& ranks) {
  const double wanted = memory_bound(n, precision, ranks.size()), there = available_memory();
  if (wanted <= there) return;
  const auto gigabytes = [](double bytes) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3g GB", bytes * 1e-9);
    return std::string(text);
  };
  throw driver::Error(
      "memory",
      std::to_string(n) + " points need " + gigabytes(wanted) + ", and " + gigabytes(there) + " are free",
      precision == Precision::float32 ? "give --precision uint16 or fewer points" : "give fewer points");
}

}  // namespace pairwise_clustering
