// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace pairwise_clustering {

/// Rows of a panel: the number of float32 in a vector of 512 bits. A panel keeps `panel_rows` distances of one column together, column
/// after column: D is symmetric, so its rows are read along, and a product streams through memory once.
constexpr std::size_t panel_rows = 16;

/// A part of D X: `panels` panels of D, over `columns` of its columns.
template <class Element>
struct Part {
  const Element* d;        ///< the part's first column, in its first panel
  std::size_t panel_step;  ///< elements from panel to panel
  std::size_t panels;
  std::size_t columns;
};

/// Matrices with a column for each cluster.
struct Factor {
  const float* x;  ///< row by row, `clusters` floats each, for the columns of the part
  std::size_t clusters;
};

/// Adds to y, cluster by cluster `stride` doubles apart, scale x (D X). A row's sum is that of its columns in their order, in float32 for
/// 256 columns and in double beyond, whatever panels a call has. So threads and ranks do not change it.
template <class Element>
using Product = void (*)(const Part<Element>& part, const Factor& factor, double scale, double* y,
                         std::size_t stride);

struct Kernel {
  std::string_view name;
  bool (*is_present)();
  Product<float> of_floats;
  Product<std::uint16_t> of_integers;
};

/// The widest first; the last runs everywhere.
std::span<const Kernel> kernels();

/// The first that this processor runs.
const Kernel& widest_kernel();

}  // namespace pairwise_clustering
