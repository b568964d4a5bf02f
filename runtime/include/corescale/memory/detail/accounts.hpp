// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>

#include "corescale/memory/detail/block.hpp"

namespace corescale::inline v0::detail {

/// A count that one thread writes and any may read. It is exact for the writer, and for threads that are ordered after it, for example by a
/// join.
class byte_count {
 public:
  std::size_t get() const noexcept { return bytes_.load(std::memory_order_relaxed); }
  void add(std::size_t bytes) noexcept { bytes_.store(get() + bytes, std::memory_order_relaxed); }
  void subtract(std::size_t bytes) noexcept { add(0 - bytes); }

 private:
  std::atomic<std::size_t> bytes_{0};
};

/// The blocks that one thread keeps, and the bytes of all blocks that it owns: the base of its pool.
/// The block that was returned last is not in a list, but in a place of its own. A request of the same size takes it from there without
/// reading a list, and the place has a fixed address. If the place depended on the block's size, each call would wait until the one before
/// has read that size.
class accounts {
 public:
  /// An available block of the class; null if there is none.
  [[gnu::always_inline]] block* pop(std::size_t c) noexcept {
    block* const newest = newest_;
    if (newest && newest->size_class == c) [[likely]] {
      newest_ = nullptr;
      return newest;
    }
    list& from = lists_[c];
    block* const front = from.root;
    if (!front) return nullptr;
    from.root = next_of(front);
    --from.length;
    return front;
  }

  /// Makes b available.
  [[gnu::always_inline]] void push(block* b) noexcept {
    block* const before = newest_;
    newest_ = b;
    if (!before) return;
    list& to = lists_[before->size_class];
    set_next(before, to.root);
    to.root = before;
    ++to.length;
  }

  std::size_t available() const noexcept;
  std::size_t inuse() const noexcept { return held() - available(); }
  std::size_t held() const noexcept { return held_.get(); }

  /// made(): a block came from the system, and is in use. ended_in_use(): a block in use went back to the system. An available block first
  /// comes into use by pop().
  void made(std::size_t bytes) noexcept { held_.add(bytes); }
  void ended_in_use(std::size_t bytes) noexcept { held_.subtract(bytes); }

 private:
  struct list {
    block* root = nullptr;
    std::size_t length = 0;
  };
  block* newest_ = nullptr;
  std::array<list, num_classes + 1>
      lists_{};  // one for each class, and an empty one for sizes that no class holds
  byte_count held_;
};

}  // namespace corescale::detail
