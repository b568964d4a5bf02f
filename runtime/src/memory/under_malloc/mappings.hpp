// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "system.hpp"

/// Blocks beyond largest_run, and those of great alignment: a mapping of the kernel's each, known by a table.
namespace corescale::inline v0::process_heap {

/// Null where there is no memory. `dirty` is set to how many first bytes may not read as zero.
void* take_mapping(std::size_t bytes, std::size_t alignment, std::size_t& dirty) noexcept;

/// False where `memory` is none that take_mapping() gave.
bool give_mapping(void* memory) noexcept;

/// 0 where `memory` is none that take_mapping() gave.
std::size_t mapping_bytes(const void* memory) noexcept;

/// The same memory of another size, elsewhere if need be; null where that is impossible: all is as before then.
void* resize_mapping(void* memory, std::size_t bytes) noexcept;

/// Hands mappings back that were kept for the time of decay.
void age_mappings(std::uint64_t now) noexcept;

/// Hands mappings that are kept for reuse back to the kernel; their bytes.
std::size_t purge_mappings() noexcept;

struct mapping_counts {
  std::size_t blocks, bytes, kept_bytes;
};
mapping_counts count_mappings() noexcept;

extern constinit lock mapping_lock;

}  // namespace corescale::process_heap
