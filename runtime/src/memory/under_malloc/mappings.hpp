// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "system.hpp"

/// Blocks above largest_run, or with a large alignment: each is a mapping of the kernel, which is found by a table.
namespace corescale::inline v0::process_heap {

/// Null if there is no memory. Sets `dirty` to the number of bytes, from the first, that may not read as zero.
void* take_mapping(std::size_t bytes, std::size_t alignment, std::size_t& dirty) noexcept;

/// False if take_mapping() did not give `memory`.
bool give_mapping(void* memory) noexcept;

/// 0 if take_mapping() did not give `memory`.
std::size_t mapping_bytes(const void* memory) noexcept;

/// The same memory with another size, moved if need be. Null if that is impossible; then nothing has changed.
void* resize_mapping(void* memory, std::size_t bytes) noexcept;

/// Hands mappings that were kept for decay_ms back to the kernel.
void age_mappings(std::uint64_t now) noexcept;

/// Hands mappings that are kept for reuse back to the kernel. Returns their bytes.
std::size_t purge_mappings() noexcept;

struct mapping_counts {
  std::size_t blocks, bytes, kept_bytes;
};
mapping_counts count_mappings() noexcept;

extern constinit lock mapping_lock;

}  // namespace corescale::process_heap
