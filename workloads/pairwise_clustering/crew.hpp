// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "corescale/region.h"
#include "driver/block_loop.hpp"
#include "driver/ranks.hpp"
#include "pairwise_clustering/distances.hpp"
#include "pairwise_clustering/sums.hpp"

namespace pairwise_clustering {

/// How the factor of a product reaches all ranks. `allgather`: as a whole, before a single product; the result has the same bits for any
/// number of ranks. `ring`: in parts, each of which is used on its way round, as in DAPWC; this needs no room for the whole.
enum class Exchange : std::uint8_t { allgather, ring };

/// A region of the record, from here to the end of the block.
class Region {
 public:
  explicit Region(const char* name) : name_(name) { corescale_region_begin(name); }
  ~Region() { corescale_region_end(name_); }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

 private:
  const char* name_;
};

/// The ranks, and the loop and its blocks on this rank.
struct Crew {
  const driver::Ranks& ranks;
  driver::BlockLoop& loop;
  std::size_t blocks;
  Exchange exchange = Exchange::allgather;

  /// Calls body(first, last) for blocks of the rows that this rank owns, each a whole number of panels.
  template <class Body>
  void for_rows(const Distances& distances, Body&& body) const {
    loop.run(blocks, [&](std::size_t block) {
      const std::size_t first = distances.panels() * block / blocks * panel_rows;
      const std::size_t last = distances.panels() * (block + 1) / blocks * panel_rows;
      if (first < distances.rows()) body(first, std::min(last, distances.rows()));
    });
  }

  /// Replaces the sums by those over all ranks.
  void reduce(Sums& sums) const {
    const Region region("reduce");
    ranks.sum(sums.total());
  }
};

/// Y = D X for factors X with a column for each cluster, over all ranks.
class SharedProduct {
 public:
  SharedProduct(const Distances& distances, const Crew& crew) : distances_(distances), crew_(crew) {}

  /// `mine`: this rank's rows of X, `clusters` floats each. y[k * stride + row] is set for the rows of whole panels.
  void run(std::span<const float> mine, std::size_t clusters, std::span<double> y, std::size_t stride) {
    if (crew_.exchange == Exchange::ring && crew_.ranks.size() > 1)
      run_ring(mine, clusters, y, stride);
    else
      run_whole(mine, clusters, y, stride);
  }

 private:
  std::size_t first_of(int rank) const { return crew_.ranks.first_of(distances_.size(), rank); }

  void run_whole(std::span<const float> mine, std::size_t clusters, std::span<double> y, std::size_t stride) {
    if (crew_.ranks.size() == 1) return add(mine.data(), 0, distances_.size(), clusters, y, stride, true);
    all_.resize(distances_.size() * clusters);
    std::ranges::copy(mine,
                      all_.begin() + static_cast<std::ptrdiff_t>(first_of(crew_.ranks.rank()) * clusters));
    {
      const Region region("exchange");
      crew_.ranks.gather_rows(all_, distances_.size());
    }
    add(all_.data(), 0, distances_.size(), clusters, y, stride, true);
  }

  void run_ring(std::span<const float> mine, std::size_t clusters, std::span<double> y, std::size_t stride) {
    const int size = crew_.ranks.size();
    held_.assign(mine.begin(), mine.end());
    for (int step = 0; step < size; ++step) {
      const int owner = (crew_.ranks.rank() - step + size) % size, next = (owner - 1 + size) % size;
      add(held_.data(), first_of(owner), first_of(owner + 1) - first_of(owner), clusters, y, stride,
          step == 0);
      if (step + 1 == size) return;
      const Region region("exchange");
      arriving_.resize((first_of(next + 1) - first_of(next)) * clusters);
      crew_.ranks.pass_on(held_, arriving_);
      held_.swap(arriving_);
    }
  }

  /// Adds a part of the product to y. `is_first`: y is set to 0 before.
  void add(const float* x, std::size_t first, std::size_t columns, std::size_t clusters, std::span<double> y,
           std::size_t stride, bool is_first) {
    const Region region("dm_product");
    crew_.loop.run(crew_.blocks, [&](std::size_t block) {
      const std::size_t begin = distances_.panels() * block / crew_.blocks;
      const std::size_t end = distances_.panels() * (block + 1) / crew_.blocks;
      for (std::size_t k = 0; is_first && k < clusters; ++k)
        std::ranges::fill(y.subspan(k * stride + begin * panel_rows, (end - begin) * panel_rows), 0.0);
      distances_.multiply(begin, end - begin, first, columns, {x, clusters}, y.data(), stride);
    });
  }

  const Distances& distances_;
  const Crew& crew_;
  std::vector<float> all_, held_, arriving_;
};

}  // namespace pairwise_clustering
