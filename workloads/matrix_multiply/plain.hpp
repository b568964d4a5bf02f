// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "matrix_multiply/matrix.hpp"

namespace matrix_multiply {

/// Rows first .. last - 1 of C, written in the plainest way: for each row, adds a multiple of each row of B, unless the factor is 0.
inline void multiply_plain(const Product& product, std::size_t first, std::size_t last) {
  const std::size_t n = product.n;
  for (std::size_t i = first; i < last; ++i) {
    double* row = product.c + i * n;
    std::fill_n(row, n, 0.0);
    for (std::size_t k = 0; k < n; ++k) {
      const double factor = product.a[i * n + k];
      if (factor == 0) continue;
      const double* other = product.b + k * n;
      for (std::size_t j = 0; j < n; ++j) row[j] += factor * other[j];
    }
  }
}

}  // namespace matrix_multiply
