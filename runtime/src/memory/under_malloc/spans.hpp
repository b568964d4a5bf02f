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
/// row. A block's page says whose block it is. The page is found from the address, without a look at the
/// block.
namespace corescale::inline v0::process_heap {

struct heap;

/// A block that is free: its first word, encoded, is the next one of its list.
struct block {
  std::uintptr_t word;
};

struct page {
  block* free = nullptr;
  std::uint32_t used = 0;
  std::uint32_t slow_at = 0;          ///< a return that leaves this many blocks in use takes the slow path
  std::atomic<heap*> owner{nullptr};  ///< a run, which is one block, has none
  std::uint32_t block_size = 0;
  std::uint32_t carved = 0;    ///< blocks that were in the list once
  std::uint32_t reserved = 0;  ///< blocks that fit
  std::uint8_t size_class = 0;
  std::uint8_t slices = 0;
  guard guarded = guard::none;  ///< the last bytes
  bool full = false;            ///< and in no list
  page* next = nullptr;
  page* previous = nullptr;
  /// The block that is carved first. It differs by page, because sets of caches and of the TLB repeat every few KiB.
  std::uint32_t first = 0;

  /// What other threads returned: the first block; above bit 48 the number of blocks; in bit 0 whether the owner wants to be notified,
  /// because the page is in no list.
  alignas(64) std::atomic<std::uintptr_t> returned{0};
  page* next_notice = nullptr;
};

struct segment {
  std::uint64_t free = 0;   ///< slices
  std::uint64_t dirty = 0;  ///< slices that were used since the kernel gave them
  std::uint64_t idle = 0;   ///< free slices that have been dirty since `waits_since`
  std::uint64_t waits_since = 0;
  unsigned longest = 0;  ///< most free slices in a row; there is a list for each
  bool waits = false;    ///< it is in the list of segments with free slices that are dirty
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

/// That many slices in a row, without an owner; null if there is no memory. `dirty` is set to how many first
/// bytes may not read as zero. The last guard_bytes() do not belong to the program.
page* take_span(unsigned slices, std::size_t& dirty) noexcept;

/// With `ages`, memory that was free for the time of decay goes back to the kernel. Callers that hold a lock
/// may not ask for this.
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
