// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <new>

#include "corescale/memory/detail/pool.hpp"
#include "system_memory.hpp"

namespace corescale::inline v0::detail {

/// The header of a slab, which is before its blocks.
struct slab {
  slab* older;
  char* cut;  ///< the first byte that is in no block yet
  char* end;
  std::size_t blocks;
  std::size_t spare;  ///< how many of these are spare; only release() counts them

  bool is_whole() const noexcept { return spare == blocks; }
};

namespace {

// A thread's first slab is one page, because most threads need few small blocks. Each further slab is twice
// as large, up to a size for which the system's allocator takes less than 1% of the time of filling the slab.
constexpr std::size_t first_slab_bytes = 4 << 10;
constexpr std::size_t largest_slab_bytes = 64 << 10;
constexpr std::size_t slab_header = (sizeof(slab) + small_alignment - 1) / small_alignment * small_alignment;

std::size_t stride_of(std::size_t size_class) noexcept {
  return sizeof(block) + class_capacity(size_class) + guard_bytes;
}

slab* slab_of(const block* b) noexcept {
  return reinterpret_cast<slab*>(reinterpret_cast<std::uintptr_t>(b) - b->lead * small_alignment);
}

}  // namespace

slab* slab_store::add_slab(source& from, std::size_t stride) noexcept {
  // Less than a power of two, so that malloc() needs no further page for its own header.
  const std::size_t bytes =
      std::min(largest_slab_bytes, first_slab_bytes << std::min<std::size_t>(from.slabs, 8)) -
      small_alignment;
  void* const room = std::malloc(bytes);
  if (!room) return nullptr;
  char* const start = static_cast<char*>(room);
  char* const first = start + slab_header;
  char* const end = first + (bytes - slab_header) / stride * stride;
  forbid(first, static_cast<std::size_t>(end - first));
  ++from.slabs;
  return from.newest = new (room) slab{from.newest, first, end, 0, 0};
}

block* slab_store::take(std::size_t size_class) noexcept {
  source& from = sources_[size_class];
  if (block* const spare = from.spare) {
    from.spare = next_of(spare);
    return spare;
  }
  const std::size_t stride = stride_of(size_class);
  slab* home = from.newest;
  if (!home || home->cut == home->end) home = add_slab(from, stride);
  if (!home) return nullptr;
  char* const at = home->cut;
  home->cut += stride;
  ++home->blocks;
  permit(at, sizeof(block));
  const auto lead = static_cast<std::size_t>(at - reinterpret_cast<char*>(home)) / small_alignment;
  block* const b = reinterpret_cast<block*>(at);
  return new (at)
      block{0, seal_at(b), static_cast<std::uint16_t>(size_class), static_cast<std::uint16_t>(lead)};
}

void slab_store::put(block* b) noexcept {
  source& to = sources_[b->size_class];
  set_next(b, to.spare);
  to.spare = b;
}

void slab_store::release() noexcept {
  for (source& from : sources_) {
    if (!from.spare) continue;
    count_spare(from);
    forget_whole_slabs(from);
    free_whole_slabs(from);
  }
}

void slab_store::count_spare(source& from) noexcept {
  for (slab* s = from.newest; s; s = s->older) s->spare = 0;
  for (const block* b = from.spare; b; b = next_of(b)) ++slab_of(b)->spare;
}

/// Removes from the spare list the blocks of slabs that are about to go.
void slab_store::forget_whole_slabs(source& from) noexcept {
  block* kept = nullptr;
  for (block* b = from.spare; b;) {
    block* const next = next_of(b);
    if (!slab_of(b)->is_whole()) {
      set_next(b, kept);
      kept = b;
    }
    b = next;
  }
  from.spare = kept;
}

void slab_store::free_whole_slabs(source& from) noexcept {
  for (slab** link = &from.newest; *link;) {
    slab* const s = *link;
    if (!s->is_whole()) {
      link = &s->older;
      continue;
    }
    *link = s->older;
    permit(s, static_cast<std::size_t>(s->end - reinterpret_cast<char*>(s)));
    --from.slabs;
    std::free(s);
  }
}

}  // namespace corescale::detail
