// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "matrix_multiply/matrix.hpp"

namespace matrix_multiply {

/// y = M x for `rows` rows of n columns.
inline std::vector<double> times(const double* matrix, std::size_t rows, std::size_t n,
                                 const std::vector<double>& x) {
  std::vector<double> y(rows, 0.0);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < n; ++j) y[i] += matrix[i * n + j] * x[j];
  return y;
}

/// Whether C = A B, by A (B x) = C x for vectors x of random signs (Freivalds 1977): a wrong row passes one vector with
/// probability 1/2 at most, and 20 with 1e-6. Entries are below 1, so rounding grows as n^(3/2).
inline bool is_product(const Product& product, std::uint64_t seed, int vectors = 20) {
  const auto n = static_cast<double>(product.n);
  const double tolerance = 8 * std::numeric_limits<double>::epsilon() * n * std::sqrt(n);
  for (int v = 0; v < vectors; ++v) {
    std::vector<double> x(product.n);
    for (std::size_t j = 0; j < x.size(); ++j)
      x[j] = element(seed, 100 + static_cast<std::uint64_t>(v), j) < 0 ? -1 : 1;
    const std::vector<double> expected =
        times(product.a, product.rows, product.n, times(product.b, product.n, product.n, x));
    const std::vector<double> got = times(product.c, product.rows, product.n, x);
    for (std::size_t i = 0; i < got.size(); ++i)
      if (!(std::abs(got[i] - expected[i]) <= tolerance)) return false;
  }
  return true;
}

}  // namespace matrix_multiply
