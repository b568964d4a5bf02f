// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "matrix_multiply/matrix.hpp"

namespace matrix_multiply {

/// A block of C that stays in registers while a column of A and a row of B pass by (Goto and van de Geijn 2008).
struct Kernel {
  std::string_view name;
  std::size_t rows;     ///< of the block of C
  std::size_t columns;  ///< of the block of C
  bool (*is_present)();

  /// c[rows x columns], `stride` doubles from row to row, += a b over `depth`.
  /// a: packed, `rows` doubles a step. b: packed, `columns` doubles a step, aligned to 64 bytes.
  void (*run)(std::size_t depth, const double* a, const double* b, double* c, std::size_t stride);
};

/// The widest first; the last runs everywhere.
std::span<const Kernel> kernels();

/// The first that this processor runs.
const Kernel& widest_kernel();

/// C = A B by packed panels. B is packed once, by all threads together; then each block of rows of C can be computed on its own.
class Packed {
 public:
  /// Throws std::bad_alloc.
  Packed(const Product& product, const Kernel& kernel);

  /// Strips of `kernel.columns` columns of B.
  std::size_t strips() const { return strips_; }
  void pack_strip(std::size_t strip);

  /// Rows first .. last - 1 of C, once every strip is packed. Throws std::bad_alloc.
  void multiply(std::size_t first, std::size_t last) const;

 private:
  void multiply_panel(std::size_t first, std::size_t last, std::size_t begin, std::size_t depth,
                      double* a) const;
  void tile(std::size_t i, std::size_t height, std::size_t strip, std::size_t begin, std::size_t depth,
            const double* a) const;

  Product product_;
  const Kernel& kernel_;
  std::size_t strips_;
  Buffer b_;
};

}  // namespace matrix_multiply
