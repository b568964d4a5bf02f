// SPDX-License-Identifier: Apache-2.0
#include "spans.hpp"

#include <sys/mman.h>

#include <bit>
#include <new>
#include <utility>

#include "mappings.hpp"

namespace corescale::inline v0::process_heap {

constinit lock span_lock;

namespace {

constexpr std::uint64_t all_slices = ~std::uint64_t{1};  // slice 0 is the header

// All of these are guarded by span_lock.
constinit std::array<segment*, 64> by_longest{};
constinit std::uint64_t lists_in_use = 0;  // a bit for each of these lists that is not empty
constinit segment* oldest_dirty = nullptr;
constinit segment* newest_dirty = nullptr;
constinit span_counts held{};

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

/// The length of the longest row of set bits, at most 63.
unsigned longest_run(std::uint64_t bits) noexcept {
  if (!bits) return 0;
  std::array<std::uint64_t, 6> runs{bits};  // of each k: the bits at which a row of at least 2^k begins
  unsigned k = 0;
  for (; k + 1 < runs.size(); ++k)
    if (!(runs[k + 1] = runs[k] & runs[k] >> (1u << k))) break;
  unsigned length = 1u << k;
  for (std::uint64_t at = runs[k]; k-- > 0;)
    if (const std::uint64_t longer = at & runs[k] >> length) {
      at = longer;
      length += 1u << k;
    }
  return length;
}

/// Puts a segment into the list of its longest free run; into none if that is 0.
void list_by(segment* s, unsigned longest) noexcept {
  if (s->longest == longest) return;
  if (s->longest) {
    (s->previous ? s->previous->next : by_longest[s->longest]) = s->next;
    if (s->next) s->next->previous = s->previous;
    if (!by_longest[s->longest]) lists_in_use &= ~(std::uint64_t{1} << s->longest);
  }
  s->longest = longest;
  if (!longest) return;
  s->previous = nullptr;
  s->next = by_longest[longest];
  if (s->next) s->next->previous = s;
  by_longest[longest] = s;
  lists_in_use |= std::uint64_t{1} << longest;
}

void enlist(segment* s) noexcept { list_by(s, longest_run(s->free)); }

/// Call with the lock held. The lock is released while the kernel works.
segment* add_segment() noexcept {
  span_lock.leave();
  void* room = map_aligned(segment_bytes, segment_bytes);
  if (room && !can_mark(room)) unmap(std::exchange(room, nullptr), segment_bytes);
  if (room && chosen.huge_pages == huge_pages::asked) advise(room, segment_bytes, MADV_HUGEPAGE);
  segment* const made = room ? new (room) segment : nullptr;
  span_lock.take();
  if (!made) return nullptr;
  made->free = all_slices;
  ++held.segments;
  mark(made, true);
  enlist(made);
  return made;
}

/// The caller gives it to the kernel later, without the lock.
void remove_segment(segment* s) noexcept {
  list_by(s, 0);
  mark(s, false);
  --held.segments;
}

struct place {
  segment* in;
  int first;
};

/// A segment with room, fullest first. Of the first few, one whose free slices are still in memory is
/// preferred; else it is the first.
place find_place(unsigned slices) noexcept {
  place clean{nullptr, -1};
  unsigned looks = 0;
  for (std::uint64_t lists = lists_in_use >> slices << slices; lists; lists &= lists - 1)
    for (segment* s = by_longest[static_cast<unsigned>(std::countr_zero(lists))]; s; s = s->next) {
      if (const int used = find_run(s->free & s->dirty, slices); used >= 0) return {s, used};
      if (!clean.in) clean = {s, find_run(s->free, slices)};
      if (++looks == 16) return clean;
    }
  return clean;
}

void claim(segment* s, std::uint64_t bits) noexcept {
  const auto dirty = static_cast<std::size_t>(std::popcount(s->dirty & bits));
  held.dirty_slices -= dirty;
  held.used_slices += static_cast<std::size_t>(std::popcount(bits));
  s->free &= ~bits;
  s->dirty |= bits;
  s->idle &= ~bits;
  enlist(s);
}

void wait(segment* s, std::uint64_t now) noexcept {
  if (s->waits) return;
  s->waits = true;
  s->waits_since = now;
  s->idle = s->free & s->dirty;
  s->next_dirty = nullptr;
  (newest_dirty ? newest_dirty->next_dirty : oldest_dirty) = s;
  newest_dirty = s;
}

void release(segment* s, std::uint64_t bits, std::uint64_t now) noexcept {
  const auto count = static_cast<std::size_t>(std::popcount(bits));
  held.used_slices -= count;
  held.dirty_slices += count;
  s->free |= bits;
  enlist(s);
  wait(s, now);
}

/// Hands free slices of the segment that waits longest back to the kernel: all dirty ones, or only those that
/// were dirty for the whole wait. The others start to wait again. Call with the lock held. It is released
/// while the kernel works; meanwhile nobody can get these slices.
std::size_t purge_oldest(bool all, std::uint64_t now) noexcept {
  segment* const s = oldest_dirty;
  oldest_dirty = s->next_dirty;
  if (!oldest_dirty) newest_dirty = nullptr;
  s->waits = false;
  const std::uint64_t dirty = s->free & s->dirty, going = all ? dirty : s->idle;
  const bool whole = s->free == all_slices && going == dirty;
  held.dirty_slices -= static_cast<std::size_t>(std::popcount(going));
  if (whole) {
    remove_segment(s);
  } else {
    s->free &= ~going;
    enlist(s);
    if (dirty != going) wait(s, now);
    if (!going) return 0;  // without slices on their way, another thread may remove the segment
  }
  span_lock.leave();
  if (whole) unmap(s, segment_bytes);
  for (std::uint64_t bits = whole ? 0 : going; bits;) {
    const auto first = static_cast<unsigned>(std::countr_zero(bits));
    const auto count = static_cast<unsigned>(std::countr_one(bits >> first));
    purge(reinterpret_cast<char*>(s) + first * slice, count * slice);
    bits &= ~slices_from(first, count);
  }
  span_lock.take();
  if (whole) return segment_bytes;
  s->dirty &= ~going;
  s->free |= going;
  enlist(s);
  if (s->free == all_slices) wait(s, now);  // the whole segment may go later
  return static_cast<std::size_t>(std::popcount(going)) * slice;
}

/// Purges, oldest first, memory that was free for decay_ms, and memory beyond what may be kept.
void decay(std::uint64_t now) noexcept {
  const auto keeps = [] { return most_free(held.used_slices * slice) / slice; };
  bool too_much = held.dirty_slices > keeps();
  while (oldest_dirty && (too_much || oldest_dirty->waits_since + chosen.decay_ms <= now)) {
    purge_oldest(too_much, now);
    too_much = too_much && held.dirty_slices > keeps() / 2;
  }
}

page* claim_span(unsigned slices, std::size_t& dirty) noexcept {
  const locked hold(span_lock);
  place at = find_place(slices);
  if (!at.in) at = {add_segment(), 1};
  if (!at.in) return nullptr;
  const auto first = static_cast<unsigned>(at.first);
  const std::uint64_t bits = slices_from(first, slices);
  dirty = at.in->dirty & bits ? slices * slice : 0;
  claim(at.in, bits);
  for (unsigned k = first; k < first + slices; ++k) at.in->first[k] = static_cast<std::uint8_t>(first);
  page* const p = new (&at.in->pages[first]) page;
  p->slices = static_cast<std::uint8_t>(slices);
  return p;
}

}  // namespace

page* take_span(unsigned slices, std::size_t& dirty) noexcept {
  page* const p = claim_span(slices, dirty);
  if (p && guard_bytes()) p->guarded = protect(memory_of(p) + bytes_of(p));
  return p;
}

void give_span(page* p, bool ages) noexcept {
  if (p->guarded != guard::none) unprotect(memory_of(p) + bytes_of(p), p->guarded);
  const std::uint64_t now = now_ms();
  {
    const locked hold(span_lock);
    segment* const s = segment_of(p);
    const unsigned first = s->index_of(p);
    if (p->slices == 0 || s->first[first] != first)
      die("free() of memory that is not in use", s->memory_of(p));
    const std::uint64_t bits = slices_from(first, p->slices);
    p->slices = 0;
    p->block_size = 0;
    p->guarded = guard::none;
    release(s, bits, now);
    if (ages) decay(now);
  }
  if (ages) age_mappings(now);
}

void age_spans() noexcept {
  const std::uint64_t now = now_ms();
  const locked hold(span_lock);
  decay(now);
}

bool resize_run(page* run, unsigned slices) noexcept {
  if (guard_bytes()) return false;
  const locked hold(span_lock);
  segment* const s = segment_of(run);
  const unsigned first = s->index_of(run), have = run->slices;
  if (first + slices > 64) return false;
  if (slices > have) {
    const std::uint64_t more = slices_from(first + have, slices - have);
    if ((s->free & more) != more) return false;
    claim(s, more);
    for (unsigned k = first + have; k < first + slices; ++k) s->first[k] = static_cast<std::uint8_t>(first);
  }
  run->slices = static_cast<std::uint8_t>(slices);
  run->block_size = static_cast<std::uint32_t>(slices * slice);
  if (slices < have) {
    const std::uint64_t now = now_ms();
    release(s, slices_from(first + slices, have - slices), now);
    decay(now);
  }
  return true;
}

std::size_t purge_spans() noexcept {
  const locked hold(span_lock);
  std::size_t bytes = 0;
  for (std::size_t most = held.segments; most && oldest_dirty; --most) bytes += purge_oldest(true, now_ms());
  return bytes;
}

span_counts count_spans() noexcept {
  const locked hold(span_lock);
  return held;
}

}  // namespace corescale::process_heap
