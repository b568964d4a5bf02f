// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "driver/memory.hpp"
#include "driver/ranks.hpp"
#include "pairwise_clustering/distances.hpp"

namespace pairwise_clustering {

/// What the clustering takes, in bytes, of all ranks together: the matrix, and at most 15% of it and 64 MB a rank beside it.
inline double memory_bound(std::size_t n, Precision precision, int ranks) {
  return 1.15 * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(bytes_of(precision)) +
         64e6 * ranks;
}

/// Throws Error when the ranks of this machine would not find room. Call before anything is read.
inline void check_memory(std::size_t n, Precision precision, const driver::Ranks& ranks) {
  driver::must_have_memory(
      memory_bound(n, precision, ranks.size()), std::to_string(n) + " points",
      precision == Precision::float32 ? "give --precision uint16 or fewer points" : "give fewer points");
}

}  // namespace pairwise_clustering
