// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>

#include "driver/random.hpp"

namespace matrix_multiply {

/// Doubles that begin on their own cache line. They are not initialised.
class Buffer {
 public:
  /// Throws std::bad_alloc.
  explicit Buffer(std::size_t size)
      : data_(static_cast<double*>(::operator new(size * sizeof(double), alignment))), size_(size) {}

  double* data() { return data_.get(); }
  const double* data() const { return data_.get(); }
  std::span<double> span() { return {data(), size_}; }
  std::span<const double> span() const { return {data(), size_}; }

 private:
  static constexpr std::align_val_t alignment{64};
  struct Free {
    void operator()(double* data) const { ::operator delete(data, alignment); }
  };

  std::unique_ptr<double, Free> data_;
  std::size_t size_;
};

/// Element `index` of the matrix with this number: uniform in [-1, 1), the same on every thread and rank.
inline double element(std::uint64_t seed, std::uint64_t matrix, std::size_t index) {
  return 2 * driver::Random(seed, matrix, index).unit() - 1;
}

/// A part of a matrix product: C = A B for `rows` rows of A and C; B is n x n. All are stored row by row, n columns each.
struct Product {
  std::size_t n;
  std::size_t rows;
  const double* a;
  const double* b;
  double* c;
};

}  // namespace matrix_multiply
