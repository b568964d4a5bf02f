// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "corescale/machine/cache_line.hpp"
#include "sizes.hpp"
#include "spans.hpp"
#include "system.hpp"

/// A thread's heap has a list of pages for each size class. Only its own thread takes blocks from them. Blocks that other threads return
/// come home in parcels, by one atomic operation each. A heap outlives its thread: the next thread without a heap gets it, and until then
/// any thread takes pages from it.
namespace corescale::inline v0::process_heap {

/// Blocks of one page on their way to its owner.
struct parcel {
  page* to = nullptr;
  block* first = nullptr;
  block* last = nullptr;
  std::uint32_t size = 0;
};

struct alignas(cache_line) heap {
  std::array<page*, num_classes>
      bins;  ///< for each class, the page to take from: the page to which a block was returned last
  std::array<page*, num_classes> lists;  ///< the first page of each list; no_page for none
  std::array<parcel, 64> parcels{};      ///< hashed by page
  page* look_next;                       ///< the listed page to look at before a page is added
  std::size_t look_class = 0;
  std::size_t spared = 0;    ///< bytes of free pages that this round of looks passed over
  std::uint64_t random = 0;  ///< hardened
  pthread_mutex_t
      life{};  ///< held by its thread for life; the kernel marks it if the thread ends without notice
  heap* next = nullptr;  ///< the next of all heaps; never changes
  heap* next_abandoned = nullptr;
  void** quarantine = nullptr;  ///< hardened: the blocks that were returned last
  std::size_t quarantined = 0, quarantined_bytes = 0;

  alignas(cache_line) std::atomic<page*> notices{
      nullptr};                        ///< pages that were full until other threads returned blocks
  std::atomic<bool> abandoned{false};  ///< its thread has ended; changed under heaps_lock
  bool lost = false;                   ///< in a child of fork(): its thread exists only in the parent
};

/// The page that stands for none; it has no free block.
extern constinit page no_page;
/// The heap of a thread that has none: all its bins are empty, and no page is its own.
extern constinit heap no_heap;
extern constinit thread_local heap* current __attribute__((tls_model("initial-exec")));

/// The secret with which links of free lists are combined.
extern constinit std::uintptr_t secret;

/// The link in a free block's word: 0, or the block's address combined with that of the next block, which is in the same segment. So a link
/// is less than the size of a segment, and a word that a program wrote hardly ever decodes to one.
inline std::uintptr_t link_of(const block* b) noexcept { return b->word ^ secret; }
inline bool is_link(std::uintptr_t link) noexcept { return link < segment_bytes; }
inline block* linked(const block* b, std::uintptr_t link) noexcept {
  return link ? reinterpret_cast<block*>(reinterpret_cast<std::uintptr_t>(b) ^ link) : nullptr;
}
inline block* next_of(const block* b) noexcept { return linked(b, link_of(b)); }
inline void set_next(block* b, const block* next) noexcept {
  const auto here = reinterpret_cast<std::uintptr_t>(b), there = reinterpret_cast<std::uintptr_t>(next);
  b->word = (next ? here ^ there : 0) ^ secret;
}

void give_slowly(void* memory) noexcept;
/// A block of another heap's page goes into a parcel.
void post(heap& h, page* to, block* b) noexcept;
void give_to_page(page* p, block* b) noexcept;
void take_back(page* p) noexcept;

/// The first free block of a page; null for none.
[[gnu::always_inline]] inline void* take_first(page* p) noexcept {
  block* const b = p->free;
  if (!b) [[unlikely]]
    return nullptr;
  const std::uintptr_t link = link_of(b);
  if (!is_link(link)) [[unlikely]]
    die("free memory was written to", b);
  p->free = linked(b, link);
  ++p->used;
  b->word = 0;  // so that no live block looks like a free one
  return b;
}

/// At least `bytes` bytes if the thread has such a block at hand; else null.
[[gnu::always_inline]] inline void* take_at_hand(std::size_t bytes) noexcept {
  return bytes <= largest_block ? take_first(current->bins[class_of(bytes)]) : nullptr;
}

/// At least `bytes` bytes; null if there is no memory. errno is the caller's to set.
void* take(std::size_t bytes) noexcept;

/// Takes back what take() gave; null is allowed.
[[gnu::always_inline]] inline void give(void* memory) noexcept {
  if (!is_in_segment(memory)) [[unlikely]]
    return give_slowly(memory);
  page* const p = page_of(memory);
  heap* const mine = current;
  heap* const owner = p->owner.load(std::memory_order_relaxed);
  if (owner != mine) [[unlikely]]
    return owner && mine != &no_heap ? post(*mine, p, static_cast<block*>(memory)) : give_slowly(memory);
  mine->bins[p->size_class] = p;  // the next request of this size gets this block, which is in the cache
  give_to_page(p, static_cast<block*>(memory));
}

/// Returns a block whose first word looks like a link, most likely because it was returned before.
[[gnu::cold]] void give_suspected(page* p, block* b) noexcept;

[[gnu::always_inline]] inline void give_to_page(page* p, block* b) noexcept {
  if (is_link(link_of(b))) [[unlikely]]
    return give_suspected(p, b);
  set_next(b, p->free);
  p->free = b;
  if (--p->used == p->slow_at) [[unlikely]]
    take_back(p);
}

void* take_aligned(std::size_t bytes, std::size_t alignment) noexcept;
void* take_zeroed(std::size_t bytes) noexcept;
void* resize(void* memory, std::size_t bytes) noexcept;

/// 0 for memory that is not ours.
std::size_t usable_bytes(const void* memory) noexcept;

/// Called when the library is loaded, and when it ends.
void begin_process() noexcept;
void end_process() noexcept;

/// Registers our handlers of fork(), once.
void watch_forks() noexcept;

/// Enclose each registration of other handlers, for which glibc may ask for memory under a lock that its fork() takes.
void enter_registration() noexcept;
void leave_registration() noexcept;

/// Hands back to the kernel what this thread, ended threads, and all threads together can spare. Returns whether there was any.
bool trim() noexcept;

struct heap_counts {
  std::size_t heaps, abandoned;
};
heap_counts count_heaps() noexcept;

}  // namespace corescale::process_heap
