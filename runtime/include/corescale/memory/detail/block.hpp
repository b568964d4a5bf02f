// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "corescale/memory/capacity.hpp"

#if defined(__SANITIZE_ADDRESS__)
#define CORESCALE_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CORESCALE_ADDRESS_SANITIZER 1
#endif
#endif
#ifdef CORESCALE_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#define CORESCALE_NO_ADDRESS_CHECK __attribute__((no_sanitize_address, noinline))
#else
#define CORESCALE_NO_ADDRESS_CHECK
#endif

namespace corescale::inline v0::detail {

/// Where a block is, in the low bits of its stamp.
enum block_state : std::uintptr_t {
  in_use = 0,
  in_use_checked = 1,  ///< and linked into its thread's in-use account
  available = 2,
  in_transit = 3,  ///< on its way home from another thread (checked builds; others leave it in_use)
  shifted = 4,     ///< not a block: stands before over-aligned memory, and the stamp is the true block
};
inline constexpr std::uintptr_t state_bits = 7;

/// What stands before the memory that a program gets. One layout in all builds, so that code with and without
/// checks may share blocks.
struct block {
  block* next;           ///< available: the next one of the list; in_use_checked: of the account
  std::uintptr_t back;   ///< available: length of the list from here on; in_use_checked: the block before;
                         ///< at the head of a batch: how many it carries
  std::uintptr_t stamp;  ///< address of the owner's pool, which is aligned, and the state
  std::uint32_t seal;    ///< tells a block from other memory
  std::uint16_t capacity_index;
  std::uint16_t lead;  ///< bytes from the start of what malloc() gave to here

  void* memory() noexcept { return this + 1; }
  std::size_t capacity() const noexcept { return capacity_at(capacity_index); }
  block_state state() const noexcept { return static_cast<block_state>(stamp & state_bits); }
};
static_assert(sizeof(block) == 32 && num_capacities < 256);

/// The alignment of every block and of its memory. Twice what malloc() gives: on Zen 3 a pair of take() and
/// give() takes 1.8 ns for a block at a multiple of 32, and 7.5 ns for one 16 bytes beside it, as the core
/// then forwards the stores of one call to the loads of the next late
/// (docs/results/allocate_kvm_epyc_2_cores.md).
inline constexpr std::size_t block_alignment = 32;

inline block* block_of(void* memory) noexcept { return static_cast<block*>(memory) - 1; }

/// Bytes behind the capacity that show whether somebody wrote there.
inline constexpr std::size_t guard_bytes = 8;

inline char* guard_of(block* b) noexcept { return static_cast<char*>(b->memory()) + b->capacity(); }

/// The block that over-aligned memory is part of.
inline block* unshifted(const block* stands_before) noexcept {
  return reinterpret_cast<block*>(stands_before->stamp & ~state_bits);
}

/// The first memory of b at that alignment which leaves room to stand before it; capacity is set to the bytes
/// from there on.
void* shift(block& b, std::size_t alignment, std::size_t& capacity) noexcept;

/// AddressSanitizer reports whoever touches the memory from now on.
inline void forbid([[maybe_unused]] const void* memory, [[maybe_unused]] std::size_t bytes) noexcept {
#ifdef CORESCALE_ADDRESS_SANITIZER
  __asan_poison_memory_region(memory, bytes);
#endif
}

inline void permit([[maybe_unused]] const void* memory, [[maybe_unused]] std::size_t bytes) noexcept {
#ifdef CORESCALE_ADDRESS_SANITIZER
  __asan_unpoison_memory_region(memory, bytes);
#endif
}

}  // namespace corescale::detail
