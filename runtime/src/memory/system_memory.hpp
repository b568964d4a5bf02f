// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "corescale/memory/detail/block.hpp"

// Blocks from and to the system allocator, and how they differ from other memory.
#pragma GCC visibility push(hidden)
namespace corescale::inline v0::detail {

/// Depends on the address, so that a copy of a block is no block.
inline std::uint32_t seal_at(const block* b) noexcept {
  const std::uint64_t mixed = reinterpret_cast<std::uintptr_t>(b) * 0xbf58476d1ce4e5b9;
  return static_cast<std::uint32_t>(mixed >> 32) ^ 0x9e3779b9;
}

/// A block of that class, which is not a small one, without an owner; null if there is no memory.
block* block_from_system(std::size_t size_class) noexcept;

/// Ends a block. Returning it once more counts as returning foreign memory.
void block_to_system(block* b) noexcept;

/// The header at b, which may be any address, read without AddressSanitizer's checks; all zeros if nothing
/// can be read.
block peek(const block* b) noexcept;

void write_guard(block* b) noexcept;
bool guard_is_whole(const block* b) noexcept;

/// Whether AddressSanitizer is in the process. It is asked at run time, because only the program or only this library may have been built
/// with it.
bool address_sanitizer_watches() noexcept;

/// If AddressSanitizer is in the process, it reports every access to the memory until the memory is permitted again.
void forbid(void* memory, std::size_t bytes) noexcept;
void permit(const void* memory, std::size_t bytes) noexcept;

}  // namespace corescale::detail

#pragma GCC visibility pop
