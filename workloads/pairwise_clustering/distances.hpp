// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <string_view>

#include "pairwise_clustering/product.hpp"

namespace pairwise_clustering {

enum class Precision : std::uint8_t { float32, uint16 };

inline std::size_t bytes_of(Precision precision) { return precision == Precision::float32 ? 4 : 2; }

/// The rows of a symmetric N x N matrix of distances that one rank owns, in panels (product.hpp), rows beyond the last zero.
/// As uint16 a distance is a multiple of largest / 65535.
class Distances {
 public:
  /// set() fills it. `largest`: no distance exceeds it. `kernel`: computes products. Throws std::bad_alloc.
  Distances(std::size_t n, std::size_t rows, Precision precision, double largest,
            const Kernel& kernel = widest_kernel())
      : n_(n),
        rows_(rows),
        panels_((rows + panel_rows - 1) / panel_rows),
        precision_(precision),
        largest_(largest),
        data_(static_cast<std::byte*>(::operator new(std::max<std::size_t>(bytes(), 1), alignment))),
        kernel_(&kernel) {
    ask_for_large_pages();
  }

  std::size_t size() const { return n_; }
  std::size_t rows() const { return rows_; }
  std::size_t panels() const { return panels_; }
  double largest() const { return largest_; }
  std::size_t bytes() const { return panels_ * panel_rows * n_ * bytes_of(precision_); }

  /// Sets a distance. Threads may call it at the same time for different panels.
  void set(std::size_t row, std::size_t column, double distance) {
    const std::size_t at = place(row, column);
    if (precision_ == Precision::float32)
      floats()[at] = static_cast<float>(distance);
    else
      integers()[at] = static_cast<std::uint16_t>(std::lround(distance / step()));
  }

  double at(std::size_t row, std::size_t column) const {
    const std::size_t at = place(row, column);
    return precision_ == Precision::float32 ? static_cast<double>(floats()[at]) : integers()[at] * step();
  }

  /// The least difference of two distances that differ.
  double resolution() const {
    return precision_ == Precision::uint16 ? step() : largest_ * std::numeric_limits<float>::epsilon();
  }

  /// y += D x for `panels` panels from `panel` on and the columns from `first` on; y[k] is `stride` doubles from y[k + 1].
  void multiply(std::size_t panel, std::size_t panels, std::size_t first, std::size_t columns, Factor factor,
                double* y, std::size_t stride) const {
    const std::size_t start = (panel * n_ + first) * panel_rows, step_of_panel = n_ * panel_rows;
    y += panel * panel_rows;
    if (precision_ == Precision::float32)
      kernel_->of_floats({floats() + start, step_of_panel, panels, columns}, factor, 1, y, stride);
    else
      kernel_->of_integers({integers() + start, step_of_panel, panels, columns}, factor, step(), y, stride);
  }

 private:
  static constexpr std::align_val_t alignment{64};
  struct Free {
    void operator()(std::byte* data) const { ::operator delete(data, alignment); }
  };

  std::size_t place(std::size_t row, std::size_t column) const {
    return (row / panel_rows * n_ + column) * panel_rows + row % panel_rows;
  }
  /// Asks for huge pages, because a product reads all of D, and with pages of 4 KiB it waits for their addresses. If the kernel has none,
  /// nothing changes.
  void ask_for_large_pages() {
    constexpr std::uintptr_t page = 4096;
    const std::size_t before = (page - reinterpret_cast<std::uintptr_t>(data_.get()) % page) % page;
    if (before + page <= bytes())
      madvise(data_.get() + before, (bytes() - before) / page * page, MADV_HUGEPAGE);
  }

  double step() const { return largest_ > 0 ? largest_ / std::numeric_limits<std::uint16_t>::max() : 1; }
  float* floats() const { return reinterpret_cast<float*>(data_.get()); }
  std::uint16_t* integers() const { return reinterpret_cast<std::uint16_t*>(data_.get()); }

  std::size_t n_, rows_, panels_;
  Precision precision_;
  double largest_;
  std::unique_ptr<std::byte, Free> data_;
  const Kernel* kernel_;
};

}  // namespace pairwise_clustering
