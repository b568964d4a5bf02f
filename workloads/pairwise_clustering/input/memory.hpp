// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "driver/memory.hpp"
#include "driver/ranks.hpp"
#include "pairwise_clustering/distances.hpp"

namespace pairwise_clustering {

/// Bytes that a rank needs besides its part of the matrix. Simulated ranks share one process.
inline constexpr double rank_bytes = driver::is_simulated ? 6e6 : 64e6;

/// The most bytes that ranks take which hold a matrix of `matrix_bytes` together.
inline double memory_bound(double matrix_bytes, int ranks = 1) {
  return 1.15 * matrix_bytes + rank_bytes * ranks;
}

/// Throws Error when the ranks of this machine would not find room. Call before anything is read.
inline void check_memory(std::size_t n, Precision precision, const driver::Ranks& ranks) {
  const double matrix =
      static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(bytes_of(precision));
  driver::must_have_memory(
      memory_bound(matrix, ranks.size()), std::to_string(n) + " points",
      precision == Precision::float32 ? "give --precision uint16 or fewer points" : "give fewer points");
}

}  // namespace pairwise_clustering
