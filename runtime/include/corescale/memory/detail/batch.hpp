// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>

#include "corescale/memory/detail/block.hpp"

namespace corescale::inline v0::detail {

struct pool;

/// Blocks of one owner that another thread returns, until they go home together, by one atomic operation.
/// A return reads the block's header alone and waits for nothing: what it takes to send them is done for all at once, when their
/// headers have arrived.
class batch {
 public:
  // One atomic operation and one cache line in motion cost each of these blocks 1 to 2 ns; a larger batch would
  // keep memory from its owner for little.
  static constexpr std::size_t max_blocks = 32;
  static constexpr std::size_t max_bytes = std::size_t{64} << 10;

  /// For blocks of that owner from now on; what is there of another one's goes home.
  void turn_to(pool* owner) noexcept;

  /// A block of the owner's.
  [[gnu::always_inline]] void add(block* b) noexcept {
    blocks_[size_++] = b;
    const std::size_t bytes = bytes_.load(std::memory_order_relaxed) + b->capacity();
    bytes_.store(bytes, std::memory_order_release);
    if (size_ == max_blocks || bytes >= max_bytes) [[unlikely]]
      flush();
  }

  void flush() noexcept;

  /// How many bytes of home's it has; by any thread.
  std::size_t bytes_for(const pool* home) const noexcept;

 private:
  std::atomic<pool*> owner_{nullptr};
  std::atomic<std::size_t> bytes_{0};
  std::atomic<std::size_t> changes_{0};  ///< odd while the owner changes
  std::size_t size_ = 0;
  std::array<block*, max_blocks> blocks_;
};

}  // namespace corescale::detail
