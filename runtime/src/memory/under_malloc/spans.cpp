// SPDX-License-Identifier: Apache-2.0
#include "spans.hpp"

#include <errno.h>
#include <sys/mman.h>

#include <bit>
#include <new>

#include "mappings.hpp"

namespace corescale::inline v0::process_heap {

constinit std::array<std::uint64_t, (std::size_t{1} << (48 - 22)) / 64> segments_here{};
constinit lock span_lock;

namespace {

/// Free slices that are kept however few are in use: 64 MiB. More are kept only while as many are in use.
constexpr std::size_t kept_slices = 1024;
/// Slices in use from which on new segments ask for huge pages: 256 MiB. A smaller process grows by them: its pages are carved little by
/// little, and with 32 MiB the peak of a program with 8 MiB in blocks of many sizes was 91 MiB, where it is 63.
constexpr std::size_t huge_from = 4096;
constexpr std::uint64_t all_slices = ~std::uint64_t{1};  // slice 0 is the header

// All of these under span_lock.
constinit segment* partial = nullptr;
constinit segment* oldest_dirty = nullptr;
constinit segment* newest_dirty = nullptr;
constinit span_counts counts{};

std::uint64_t slices_from(unsigned first, unsigned count) noexcept {
  return ((std::uint64_t{1} << count) - 1) << first;  // count < 64
}

/// The first of `count` set bits in a row; -1 for none.
int find_run(std::uint64_t bits, unsigned count) noexcept {
  for (unsigned have = 1; have < count && bits;) {
    const unsigned step = have < count - have ? have : count - have;
    bits &= bits >> step;
    have += step;
  }
  return bits ? std::countr_zero(bits) : -1;
}

void enlist(segment* s) noexcept {
  if (s->partial) return;
  s->partial = true;
  s->previous = nullptr;
  s->next = partial;
  if (partial) partial->previous = s;
  partial = s;
}

void delist(segment* s) noexcept {
  if (!s->partial) return;
  s->partial = false;
  (s->previous ? s->previous->next : partial) = s->next;
  if (s->next) s->next->previous = s->previous;
}

void mark(const segment* s, bool here) noexcept {
  const std::uintptr_t number = reinterpret_cast<std::uintptr_t>(s) / segment_bytes;
  const std::uint64_t bit = std::uint64_t{1} << number % 64;
  std::uint64_t& word = segments_here[number / 64];
  __atomic_store_n(&word, here ? word | bit : word & ~bit, __ATOMIC_RELAXED);
}

segment* add_segment() noexcept {
  void* const room = map_aligned(segment_bytes, segment_bytes);
  if (!room) return nullptr;
  if (chosen.huge_pages && counts.used_slices >= huge_from) {
    const int before = errno;
    madvise(room, segment_bytes, MADV_HUGEPAGE);
    errno = before;
  }
  segment* const made = new (room) segment;
  made->free = all_slices;
  ++counts.segments;
  mark(made, true);
  enlist(made);
  return made;
}

void remove_segment(segment* s) noexcept {
  delist(s);
  mark(s, false);
  --counts.segments;
  unmap(s, segment_bytes);
}

struct place {
  segment* in;
  int first;
};

/// The first segment with memory that the kernel need not give anew; else the first with any.
place find_place(unsigned slices) noexcept {
  place clean{nullptr, -1};
  unsigned looks = 0;
  for (segment* s = partial; s; s = s->next) {
    if (s->too_long && slices >= s->too_long) continue;
    const int any = find_run(s->free, slices);
    if (any < 0) {
      s->too_long = slices;
      continue;
    }
    if (const int used = find_run(s->free & s->dirty, slices); used >= 0) return {s, used};
    if (!clean.in) clean = {s, any};
    if (++looks == 16) break;
  }
  return clean;
}

void claim(segment* s, std::uint64_t bits) noexcept {
  const auto dirty = static_cast<std::size_t>(std::popcount(s->dirty & bits));
  counts.dirty_slices -= dirty;
  counts.used_slices += static_cast<std::size_t>(std::popcount(bits));
  s->free &= ~bits;
  s->dirty |= bits;
  if (!s->free) delist(s);
}

void release(segment* s, std::uint64_t bits) noexcept {
  const auto count = static_cast<std::size_t>(std::popcount(bits));
  counts.used_slices -= count;
  counts.dirty_slices += count;
  s->free |= bits;
  s->too_long = 0;
  s->dirtied_at = now_ms();
  enlist(s);
  if (s->waits) return;
  s->waits = true;
  s->next_dirty = nullptr;
  (newest_dirty ? newest_dirty->next_dirty : oldest_dirty) = s;
  newest_dirty = s;
}

void purge_segment(segment* s) noexcept {
  counts.dirty_slices -= static_cast<std::size_t>(std::popcount(s->free & s->dirty));
  if (s->free == all_slices) return remove_segment(s);
  for (std::uint64_t bits = s->free & s->dirty; bits;) {
    const auto first = static_cast<unsigned>(std::countr_zero(bits));
    const auto count = static_cast<unsigned>(std::countr_one(bits >> first));
    purge(reinterpret_cast<char*>(s) + first * slice, count * slice);
    bits &= ~slices_from(first, count);
  }
  s->dirty &= ~s->free;
}

/// Purges, oldest first, what has been free for the time of decay, and what is more than may be kept.
void decay(std::uint64_t now) noexcept {
  const auto keeps = [] { return counts.used_slices > kept_slices ? counts.used_slices : kept_slices; };
  bool too_much = counts.dirty_slices > keeps();
  for (segment* s = oldest_dirty; s && (too_much || now - s->dirtied_at >= chosen.decay_ms);
       s = oldest_dirty) {
    oldest_dirty = s->next_dirty;
    if (!oldest_dirty) newest_dirty = nullptr;
    s->waits = false;
    purge_segment(s);
    too_much = too_much && counts.dirty_slices > keeps() / 2;
  }
}

}  // namespace

page* take_span(unsigned slices, bool& zero) noexcept {
  const locked hold(span_lock);
  place at = find_place(slices);
  if (!at.in) at = {add_segment(), 1};
  if (!at.in) return nullptr;
  const auto first = static_cast<unsigned>(at.first);
  const std::uint64_t bits = slices_from(first, slices);
  zero = (at.in->dirty & bits) == 0;
  claim(at.in, bits);
  for (unsigned k = first; k < first + slices; ++k) at.in->first[k] = static_cast<std::uint8_t>(first);
  page* const p = new (&at.in->pages[first]) page;
  p->slices = static_cast<std::uint8_t>(slices);
  return p;
}

void give_span(page* p) noexcept {
  const locked hold(span_lock);
  segment* const s = segment_of(p);
  const unsigned first = s->index_of(p);
  if (p->slices == 0 || s->first[first] != first) die("free() of memory that is not in use", s->memory_of(p));
  const std::uint64_t bits = slices_from(first, p->slices);
  p->slices = 0;
  p->block_size = 0;
  release(s, bits);
  const std::uint64_t now = s->dirtied_at;
  decay(now);
  age_mappings(now);
}

bool resize_run(page* run, unsigned slices) noexcept {
  const locked hold(span_lock);
  segment* const s = segment_of(run);
  const unsigned first = s->index_of(run), have = run->slices;
  if (first + slices > 64) return false;
  if (slices > have) {
    const std::uint64_t more = slices_from(first + have, slices - have);
    if ((s->free & more) != more) return false;
    claim(s, more);
    for (unsigned k = first + have; k < first + slices; ++k) s->first[k] = static_cast<std::uint8_t>(first);
  } else if (slices < have) {
    release(s, slices_from(first + slices, have - slices));
  }
  run->slices = static_cast<std::uint8_t>(slices);
  run->block_size = static_cast<std::uint32_t>(slices * slice);
  return true;
}

std::size_t purge_spans() noexcept {
  const locked hold(span_lock);
  const std::size_t before = counts.dirty_slices;
  while (segment* const s = oldest_dirty) {
    oldest_dirty = s->next_dirty;
    s->waits = false;
    purge_segment(s);
  }
  newest_dirty = nullptr;
  return (before - counts.dirty_slices) * slice;
}

span_counts count_spans() noexcept {
  const locked hold(span_lock);
  return counts;
}

}  // namespace corescale::process_heap
