// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "corescale/memory/detail/size_class.hpp"

// The memory of a block that is not in use contains the links of lists. If AddressSanitizer is in the process, it is poisoned.
#define CORESCALE_NO_ADDRESS_CHECK __attribute__((no_sanitize("address")))

namespace corescale::inline v0::detail {

/// Where a block is, in the low bits of its stamp.
enum block_state : std::uintptr_t {
  in_use = 0,
  in_use_checked = 1,  ///< in use, and in its thread's in-use account or too large to be kept: the slow path
  available = 2,
  in_transit = 3,  ///< returned by checked code, on its way to its owner; unchecked code leaves it in_use
  shifted = 4,     ///< not a block: a header before over-aligned memory; the stamp has the true block
};
inline constexpr std::uintptr_t state_bits = 7;

/// The header before the memory that a program gets. It is the same with checks and without, so that code of both kinds may share blocks.
/// While a block is not in use, its memory holds the links.
struct block {
  std::uintptr_t stamp;  ///< address of the owner's pool, with the state in its low bits
  std::uint32_t seal;    ///< distinguishes a block from other memory
  std::uint16_t size_class;
  std::uint16_t
      lead;  ///< from the start of its slab, or of what malloc() gave, to here; in units of 16 bytes

  void* memory() noexcept { return this + 1; }
  const void* memory() const noexcept { return this + 1; }
  std::size_t capacity() const noexcept { return class_capacity(size_class); }
  block_state state() const noexcept { return static_cast<block_state>(stamp & state_bits); }
};
static_assert(sizeof(block) == 16 && num_classes < 256);

/// The alignment of all memory, and the larger one of memory of 128 bytes or more. The latter begins 32 bytes after a multiple of 64, so
/// that the block and the memory's first 32 bytes share a cache line, which then moves once when another thread returns the block.
inline constexpr std::size_t small_alignment = 16;
inline constexpr std::size_t block_alignment = 32;

inline block* block_of(void* memory) noexcept { return static_cast<block*>(memory) - 1; }

/// Bytes after the capacity, which show an overrun.
inline constexpr std::size_t guard_bytes = 8;

inline char* guard_of(block* b) noexcept { return static_cast<char*>(b->memory()) + b->capacity(); }

/// The block that over-aligned memory is part of.
inline block* unshifted(const block* stands_before) noexcept {
  return reinterpret_cast<block*>(stands_before->stamp & ~state_bits);  // NOLINT(performance-no-int-to-ptr)
}

/// Word k of the memory of a block that is not in use.
CORESCALE_NO_ADDRESS_CHECK inline block* word_of(const block* b, std::size_t k) noexcept {
  return static_cast<block* const*>(b->memory())[k];
}
CORESCALE_NO_ADDRESS_CHECK inline void set_word(block* b, std::size_t k, block* value) noexcept {
  static_cast<block**>(b->memory())[k] = value;
}

/// The next block of the list that b is in.
inline block* next_of(const block* b) noexcept { return word_of(b, 0); }
inline void set_next(block* b, block* next) noexcept { set_word(b, 0, next); }

/// The first memory of b at that alignment, of 64 or more; capacity is set to the bytes from there on.
void* shift(block& b, std::size_t alignment, std::size_t& capacity) noexcept;

}  // namespace corescale::detail
