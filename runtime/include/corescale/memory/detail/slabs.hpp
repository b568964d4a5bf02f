// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "corescale/memory/detail/block.hpp"

namespace corescale::inline v0::detail {

struct slab;

/// Where one thread's small blocks come from: slabs from the system, cut into blocks as they are needed.
/// Blocks that are put back here are spare, and go to the system with their slab once all blocks of it are.
class slab_store {
 public:
  /// A spare block of the class, or a new one; null when there is no memory. The stamp is the caller's to
  /// write.
  block* take(std::size_t size_class) noexcept;

  void put(block* b) noexcept;

  /// Gives the slabs to the system of which every block is spare. Linear in spare blocks and slabs.
  void release() noexcept;

 private:
  struct source {
    block* spare = nullptr;
    slab* newest = nullptr;  ///< the one that is being cut; behind it all others
    std::size_t slabs = 0;
  };

  static slab* add_slab(source& from, std::size_t stride) noexcept;
  static void count_spare(source& from) noexcept;
  static void forget_whole_slabs(source& from) noexcept;
  static void free_whole_slabs(source& from) noexcept;

  std::array<source, num_small> sources_{};
};

}  // namespace corescale::detail
