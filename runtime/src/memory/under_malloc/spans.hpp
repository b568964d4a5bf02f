// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "segment_table.hpp"
#include "sizes.hpp"
#include "system.hpp"

/// Segments of 64 slices, shared by all threads: a page (blocks of one size, of one thread) or a run (one block) takes slices in a
/// row. A block's page has its owner. The page is found from the address, without reading the block.
namespace corescale::inline v0::process_heap {

struct heap;

/// A free block. Its first word is the encoded link to the next block of its list.
struct block {
  std::uintptr_t word;
};

struct page {
  block* free = nullptr;
  std::uint32_t used = 0;
  std::uint32_t slow_at = 0;          ///< a return that leaves this many blocks in use takes the slow path
  std::atomic<heap*> owner{nullptr};  ///< null for a run, which is one block
  std::uint32_t block_size = 0;
  std::uint32_t carved = 0;    ///< blocks that have been in the list
  std::uint32_t reserved = 0;  ///< blocks that fit
  std::uint8_t size_class = 0;
  std::uint8_t slices = 0;
  guard guarded = guard::none;  ///< the guard in its last bytes
  bool full = false;            ///< in use completely, and in no list
  page* next = nullptr;
  page* previous = nullptr;
  /// The block that is carved first. It differs by page, because sets of caches and of the TLB repeat every few KiB.
  std::uint32_t first = 0;

  /// The blocks that other threads returned: the address of the first, their number from bit 48 on, and in bit 0 whether the owner wants a
  /// notice, because the page is in no list.
  alignas(64) std::atomic<std::uintptr_t> returned{0};
  page* next_notice = nullptr;
};

struct segment {
  std::uint64_t free = 0;   ///< slices
  std::uint64_t dirty = 0;  ///< slices that were used since the kernel gave them
  std::uint64_t idle = 0;   ///< free slices that have been dirty since `waits_since`
  std::uint64_t waits_since = 0;
  unsigned longest = 0;  ///< most free slices in a row; there is a list for each number
  bool waits = false;    ///< whether it is in the list of segments with dirty free slices
  segment* next = nullptr;
  segment* previous = nullptr;
  segment* next_dirty = nullptr;
  std::array<std::uint8_t, 64> first{};  ///< for each slice, the first slice of its page
  std::array<page, 64> pages{};  ///< the entry of a page's first slice counts; slice 0 is this structure

  unsigned index_of(const page* p) const noexcept { return static_cast<unsigned>(p - pages.data()); }
  char* memory_of(const page* p) noexcept { return reinterpret_cast<char*>(this) + index_of(p) * slice; }
};
static_assert(sizeof(segment) <= slice);

inline segment* segment_of(const void* memory) noexcept {
  return reinterpret_cast<segment*>(reinterpret_cast<std::uintptr_t>(memory) & ~(segment_bytes - 1));
}

inline bool is_run(const page* p) noexcept { return !p->owner.load(std::memory_order_relaxed); }

inline char* memory_of(page* p) noexcept { return segment_of(p)->memory_of(p); }

/// The page of an address in a segment.
inline page* page_of(const void* memory) noexcept {
  segment* const in = segment_of(memory);
  return &in->pages[in->first[reinterpret_cast<std::uintptr_t>(memory) / slice % 64]];
}

/// That many slices in a row, without an owner; null if there is no memory. Sets `dirty` to the number of bytes, from the first, that may
/// not read as zero. The last guard_bytes() do not belong to the program.
page* take_span(unsigned slices, std::size_t& dirty) noexcept;

/// With `ages`, memory that was free for decay_ms goes back to the kernel. A caller that holds a lock must not ask for this.
void give_span(page* p, bool ages) noexcept;
void age_spans() noexcept;

inline std::size_t bytes_of(const page* p) noexcept { return p->slices * slice - guard_bytes(); }

/// Makes a run longer or shorter in its place; false if other slices are in the way.
bool resize_run(page* run, unsigned slices) noexcept;

/// Hands free memory back to the kernel. Returns the bytes.
std::size_t purge_spans() noexcept;

struct span_counts {
  std::size_t segments, used_slices, dirty_slices;
};
span_counts count_spans() noexcept;

extern constinit lock span_lock;

}  // namespace corescale::process_heap
