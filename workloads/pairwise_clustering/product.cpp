// SPDX-License-Identifier: Apache-2.0
#include "pairwise_clustering/product.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace pairwise_clustering {
namespace {

// Columns summed in float32 before double: their part of two panels (32 KB) stays near while a second tile of clusters reads it.
constexpr std::size_t chunk = 256;
// Panels that take a chunk in turn: its part of X (16 KB at 16 clusters) is then read from L1, and the sums (16 KB) stay in L2.
constexpr std::size_t group = 8;

template <std::size_t Lanes, class T>
struct Vector {
  using type __attribute__((vector_size(Lanes * sizeof(T)))) = T;
  using in_memory __attribute__((vector_size(Lanes * sizeof(T)), aligned(sizeof(T)))) = T;
};

// Writes to a reference, because how a function returns a vector depends on the target's ABI.
template <std::size_t Lanes, class Row>
[[gnu::always_inline]] inline void load(Row& row, const float* from) {
  row = *reinterpret_cast<const typename Vector<Lanes, float>::in_memory*>(from);
}
template <std::size_t Lanes, class Row>
[[gnu::always_inline]] inline void load(Row& row, const std::uint16_t* from) {
  const auto narrow = *reinterpret_cast<const typename Vector<Lanes, std::uint16_t>::in_memory*>(from);
  const auto wide = __builtin_convertvector(narrow, typename Vector<Lanes, std::int32_t>::type);
  row = __builtin_convertvector(wide, Row);
}

/// The data that is read next. It is prefetched while there is something to compute, a part by each of `tiles` tiles of clusters.
template <class Element>
struct Ahead {
  const Element* d;
  std::size_t panel_step, tiles;
};

/// Adds scale x sum, `Lanes` rows. Half a vector of float32 is what one of double holds.
template <std::size_t Lanes, class Sum>
[[gnu::always_inline]] inline void add(const Sum& sum, double scale, double* y) {
  constexpr std::size_t half = Lanes / 2;
  using Wide = typename Vector<half, double>::in_memory;
  for (std::size_t part = 0; part < 2; ++part) {
    typename Vector<half, float>::type narrow;
    __builtin_memcpy(&narrow, reinterpret_cast<const float*>(&sum) + part * half, sizeof narrow);
    Wide& to = *reinterpret_cast<Wide*>(y + part * half);
    to += scale * __builtin_convertvector(narrow, typename Vector<half, double>::type);
  }
}

/// One chunk of columns, `Panels` panels, `Clusters` clusters: the sums stay in registers, since all bounds are constants.
template <std::size_t Lanes, std::size_t Panels, std::size_t Clusters, class Element>
[[gnu::always_inline]] inline void accumulate(const Element* d, std::size_t panel_step, std::size_t columns,
                                              const float* x, std::size_t x_step, Ahead<Element> ahead,
                                              double scale, double* y, std::size_t stride) {
  constexpr std::size_t of_panel = panel_rows / Lanes, vectors = Panels * of_panel;
  typename Vector<Lanes, float>::type sum[Clusters][vectors] = {};
  const std::size_t ahead_step = panel_rows / ahead.tiles;
  for (std::size_t j = 0; j < columns; ++j, d += panel_rows, x += x_step, ahead.d += ahead_step) {
    typename Vector<Lanes, float>::type row[vectors];
    for (std::size_t panel = 0; panel < Panels; ++panel)
      __builtin_prefetch(ahead.d + panel * ahead.panel_step, 0, 2);
    for (std::size_t v = 0; v < vectors; ++v)
      load<Lanes>(row[v], d + v / of_panel * panel_step + v % of_panel * Lanes);
    for (std::size_t k = 0; k < Clusters; ++k)
      for (std::size_t v = 0; v < vectors; ++v) sum[k][v] += row[v] * x[k];
  }
  for (std::size_t k = 0; k < Clusters; ++k)
    for (std::size_t v = 0; v < vectors; ++v) add<Lanes>(sum[k][v], scale, y + k * stride + v * Lanes);
}

/// All clusters, in tiles of nearly equal size, at most `Most`.
template <std::size_t Lanes, std::size_t Panels, std::size_t Most, class Element>
[[gnu::always_inline]] inline void tiles(const Element* d, const Part<Element>& part, std::size_t columns,
                                         const float* x, std::size_t clusters, const Element* next,
                                         double scale, double* y, std::size_t stride) {
  const std::size_t count = (clusters + Most - 1) / Most;
  for (std::size_t tile = 0; tile < count; ++tile) {
    const std::size_t first = clusters * tile / count, size = clusters * (tile + 1) / count - first;
    const Ahead<Element> ahead{next + columns * tile / count * panel_rows, part.panel_step, count};
    [&]<std::size_t... Size>(std::index_sequence<Size...>) __attribute__((always_inline)) {
      ((size == Size + 1
            ? accumulate<Lanes, Panels, Size + 1>(d, part.panel_step, columns, x + first, clusters, ahead,
                                                  scale, y + first * stride, stride)
            : void()),
       ...);
    }
    (std::make_index_sequence<Most>{});
  }
}

/// The panels from `first` to `last`, chunk by chunk: `Panels` at a time, then the rest one by one.
template <std::size_t Lanes, std::size_t Panels, std::size_t Most, class Element>
[[gnu::always_inline]] inline void multiply_group(const Part<Element>& part, std::size_t first,
                                                  std::size_t last, const Factor& factor, double scale,
                                                  double* y, std::size_t stride) {
  for (std::size_t begin = 0; begin < part.columns; begin += chunk) {
    const std::size_t columns = std::min(chunk, part.columns - begin);
    const Element* from = part.d + begin * panel_rows;
    const float* x = factor.x + begin * factor.clusters;
    for (std::size_t panel = first; panel < last;) {
      const bool whole = panel + Panels <= last;
      const std::size_t after = panel + (whole ? Panels : 1);
      const Element* next = after < last ? from + after * part.panel_step
                                         : from + first * part.panel_step + columns * panel_rows;
      const Element* d = from + panel * part.panel_step;
      double* to = y + panel * panel_rows;
      if (whole)
        tiles<Lanes, Panels, Most>(d, part, columns, x, factor.clusters, next, scale, to, stride);
      else
        tiles<Lanes, 1, Most>(d, part, columns, x, factor.clusters, next, scale, to, stride);
      panel = after;
    }
  }
}

template <std::size_t Lanes, std::size_t Panels, std::size_t Most, class Element>
[[gnu::always_inline]] inline void multiply(const Part<Element>& part, const Factor& factor, double scale,
                                            double* y, std::size_t stride) {
  for (std::size_t first = 0; first < part.panels; first += group)
    multiply_group<Lanes, Panels, Most>(part, first, std::min(first + group, part.panels), factor, scale, y,
                                        stride);
}

bool always() { return true; }
template <class Element>
void run_plain(const Part<Element>& part, const Factor& factor, double scale, double* y, std::size_t stride) {
  multiply<4, 1, 2>(part, factor, scale, y, stride);
}

#ifdef __x86_64__
bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
bool has_avx512() { return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl"); }

template <class Element>
[[gnu::target("avx2,fma")]] void run_avx2(const Part<Element>& part, const Factor& factor, double scale,
                                          double* y, std::size_t stride) {
  multiply<8, 1, 6>(part, factor, scale, y, stride);
}
template <class Element>
[[gnu::target("avx512f,avx512vl")]] void run_avx512(const Part<Element>& part, const Factor& factor,
                                                    double scale, double* y, std::size_t stride) {
  multiply<16, 2, 14>(part, factor, scale, y, stride);
}
#endif

constexpr std::array table{
#ifdef __x86_64__
    Kernel{"avx512", has_avx512, run_avx512<float>, run_avx512<std::uint16_t>},
    Kernel{"avx2", has_avx2, run_avx2<float>, run_avx2<std::uint16_t>},
#endif
    Kernel{"plain", always, run_plain<float>, run_plain<std::uint16_t>},
};

}  // namespace

std::span<const Kernel> kernels() { return table; }

const Kernel& widest_kernel() {
  return *std::ranges::find_if(table, [](const Kernel& one) { return one.is_present(); });
}

}  // namespace pairwise_clustering
