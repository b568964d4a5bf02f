// SPDX-License-Identifier: Apache-2.0
#include "matrix_multiply/packed.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace matrix_multiply {
namespace {

// Steps of k in a panel: a packed strip of B (24 x 256 doubles, 48 KB) stays in L2 and its tiles stream through L1.
constexpr std::size_t panel_depth = 256;
// Rows of A packed at a time: 120 x 256 doubles are 240 KB, half of the smallest L2 that we meet.
constexpr std::size_t panel_rows = 120;

template <std::size_t Lanes>
struct Vector {
  using type __attribute__((vector_size(Lanes * sizeof(double)), aligned(8))) = double;
};

// One source for every width: the compiler keeps c in registers, since all bounds are constants.
template <std::size_t Lanes, std::size_t Rows, std::size_t Vectors>
[[gnu::always_inline]] inline void accumulate(std::size_t depth, const double* a, const double* b, double* c,
                                              std::size_t stride) {
  using Lane = typename Vector<Lanes>::type;
  Lane sum[Rows][Vectors] = {};
  for (std::size_t k = 0; k < depth; ++k, a += Rows, b += Lanes * Vectors) {
    Lane row[Vectors];
    for (std::size_t v = 0; v < Vectors; ++v) row[v] = *reinterpret_cast<const Lane*>(b + v * Lanes);
    for (std::size_t r = 0; r < Rows; ++r)
      for (std::size_t v = 0; v < Vectors; ++v) sum[r][v] += a[r] * row[v];
  }
  for (std::size_t r = 0; r < Rows; ++r)
    for (std::size_t v = 0; v < Vectors; ++v)
      *reinterpret_cast<Lane*>(c + r * stride + v * Lanes) += sum[r][v];
}

bool always() { return true; }
void run_plain(std::size_t depth, const double* a, const double* b, double* c, std::size_t stride) {
  accumulate<2, 4, 2>(depth, a, b, c, stride);
}

#ifdef __x86_64__
bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
bool has_avx512() { return __builtin_cpu_supports("avx512f"); }

[[gnu::target("avx2,fma")]] void run_avx2(std::size_t depth, const double* a, const double* b, double* c,
                                          std::size_t stride) {
  accumulate<4, 4, 3>(depth, a, b, c, stride);
}
[[gnu::target("avx512f")]] void run_avx512(std::size_t depth, const double* a, const double* b, double* c,
                                           std::size_t stride) {
  accumulate<8, 8, 3>(depth, a, b, c, stride);
}
#endif

constexpr std::array table{
#ifdef __x86_64__
    Kernel{"avx512", 8, 24, has_avx512, run_avx512},
    Kernel{"avx2", 4, 12, has_avx2, run_avx2},
#endif
    Kernel{"plain", 4, 4, always, run_plain},
};

std::size_t up(std::size_t value, std::size_t step) { return (value + step - 1) / step; }

}  // namespace

std::span<const Kernel> kernels() { return table; }

const Kernel& widest_kernel() {
  return *std::ranges::find_if(table, [](const Kernel& one) { return one.is_present(); });
}

Packed::Packed(const Product& product, const Kernel& kernel)
    : product_(product),
      kernel_(kernel),
      strips_(up(product.n, kernel.columns)),
      b_(strips_ * kernel.columns * product.n) {}

void Packed::pack_strip(std::size_t strip) {
  const std::size_t n = product_.n, width = kernel_.columns, first = strip * width;
  const std::size_t filled = std::min(width, n - first);
  double* to = b_.data() + first * n;
  for (std::size_t k = 0; k < n; ++k, to += width) {
    std::copy_n(product_.b + k * n + first, filled, to);
    std::fill(to + filled, to + width, 0.0);
  }
}

void Packed::multiply(std::size_t first, std::size_t last) const {
  const std::size_t n = product_.n;
  std::fill_n(product_.c + first * n, (last - first) * n, 0.0);
  Buffer a(up(panel_rows, kernel_.rows) * kernel_.rows * panel_depth);
  for (std::size_t begin = 0; begin < n; begin += panel_depth)
    for (std::size_t row = first; row < last; row += panel_rows)
      multiply_panel(row, std::min(row + panel_rows, last), begin, std::min(panel_depth, n - begin),
                     a.data());
}

void Packed::multiply_panel(std::size_t first, std::size_t last, std::size_t begin, std::size_t depth,
                            double* a) const {
  const std::size_t height = kernel_.rows;
  double* to = a;
  for (std::size_t i = first; i < last; i += height)
    for (std::size_t k = begin; k < begin + depth; ++k)
      for (std::size_t r = 0; r < height; ++r)
        *to++ = i + r < last ? product_.a[(i + r) * product_.n + k] : 0.0;
  for (std::size_t strip = 0; strip < strips_; ++strip)
    for (std::size_t i = first; i < last; i += height)
      tile(i, std::min(height, last - i), strip, begin, depth, a + (i - first) * depth);
}

void Packed::tile(std::size_t i, std::size_t height, std::size_t strip, std::size_t begin, std::size_t depth,
                  const double* a) const {
  const std::size_t n = product_.n, width = kernel_.columns, column = strip * width;
  const double* b = b_.data() + column * n + begin * width;
  double* c = product_.c + i * n + column;
  if (height == kernel_.rows && column + width <= n) return kernel_.run(depth, a, b, c, n);
  alignas(64) std::array<double, 256> edge{};
  kernel_.run(depth, a, b, edge.data(), width);
  const std::size_t filled = std::min(width, n - column);
  for (std::size_t r = 0; r < height; ++r)
    for (std::size_t j = 0; j < filled; ++j) c[r * n + j] += edge[r * width + j];
}

}  // namespace matrix_multiply
