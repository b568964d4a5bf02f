// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "corescale/memory/detail/pool.hpp"

namespace corescale::inline v0::detail {

/// Blocks of one owner that another thread returns, until they go home together, by one atomic operation.
/// Some of them, the carriers, hold the addresses of others in their memory, so that a batch needs none of
/// its own, and the others stay untouched: their cache lines move once, straight to the owner. Word 0 of a
/// carrier is the next carrier, the words behind it are its cargo, up to a null or the end.
template <class Variant>
class batch {
 public:
  // One atomic operation and one cache line in motion cost each of these blocks 1 to 2 ns; a larger batch would
  // keep memory from its owner for little.
  static constexpr std::size_t max_blocks = 32;
  static constexpr std::size_t max_bytes = std::size_t{64} << 10;

  void add(block* b, pool<Variant>* owner) noexcept;
  void flush() noexcept;

  /// How many bytes of home's it has; by any thread.
  std::size_t bytes_for(const pool<Variant>* home) const noexcept;

 private:
  void load(block* b) noexcept;
  void retarget(pool<Variant>* owner) noexcept;

  std::atomic<pool<Variant>*> owner_{nullptr};
  std::atomic<std::size_t> bytes_{0};
  std::atomic<std::size_t> changes_{0};  ///< odd while the owner changes
  block* newest_ = nullptr;              ///< carrier; the only one that may have room
  block* oldest_ = nullptr;
  std::size_t cargo_ = 0;  ///< of the newest
  std::size_t blocks_ = 0;
};

/// The batches of one thread that returns what others own. Owners whose numbers agree in the last bits share
/// one.
template <class Variant>
struct outbox {
  std::array<batch<Variant>, 64> batches;

  batch<Variant>& batch_for(const pool<Variant>* owner) noexcept {
    return batches[owner->number % batches.size()];
  }
};

/// Words of a carrier's memory that hold cargo.
inline std::size_t cargo_room(const block* carrier) noexcept {
  return carrier->capacity() / sizeof(block*) - 1;
}

/// Calls function(b) for each block of the batch, a carrier after its cargo.
template <class Function>
void unload(block* newest, Function function) {
  constexpr std::size_t most = batch<alloc_variant::per_thread>::max_blocks;
  for (block* carrier = newest; carrier;) {
    block* const next = next_of(carrier);
    __builtin_prefetch(next, 1);
    std::array<block*, most> cargo;
    std::size_t size = 0;
    for (; size < most && size < cargo_room(carrier); ++size) {
      cargo[size] = word_of(carrier, 1 + size);
      if (!cargo[size]) break;
      __builtin_prefetch(cargo[size], 1);
    }
    for (std::size_t k = 0; k < size; ++k) function(cargo[k]);
    function(carrier);
    carrier = next;
  }
}

}  // namespace corescale::detail
