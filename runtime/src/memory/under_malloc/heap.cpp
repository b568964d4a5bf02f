// SPDX-License-Identifier: Apache-2.0 (more than 300 lines: one structure, and all that may happen to it, threads' ends and forks too)
#include "heap.hpp"

#include <errno.h>
#include <gnu/libc-version.h>
#include <string.h>
#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <utility>

#include "mappings.hpp"

extern "C" {
[[gnu::weak]] void _IO_list_lock() noexcept;
[[gnu::weak]] void _IO_list_unlock() noexcept;
[[gnu::weak]] void _IO_list_resetlock() noexcept;
[[gnu::weak]] extern char __libc_single_threaded;
}

namespace corescale::inline v0::process_heap {

constinit page no_page;
constexpr std::array<page*, num_classes> no_pages = [] {
  std::array<page*, num_classes> none{};
  none.fill(&no_page);
  return none;
}();
constinit heap no_heap{no_pages, no_pages, {}, &no_page};
constinit thread_local heap* current __attribute__((tls_model("initial-exec"))) = &no_heap;
constinit std::uintptr_t secret = 0;

namespace {

// The thread's heap. `current` is the same one, unless the process is hardened: then each call takes the slow
// path.
constinit thread_local heap* own __attribute__((tls_model("initial-exec"))) = nullptr;
constinit thread_local bool is_ending __attribute__((tls_model("initial-exec"))) = false;

constinit lock registration_lock;
constinit lock refused_lock;  // held while a request that the kernel refused is tried again
constinit lock heaps_lock;
constinit heap* all_heaps = nullptr;
constinit std::atomic<heap*> abandoned_heaps{nullptr};  // changed under heaps_lock
constinit heap* inherit_here = nullptr;                 // the abandoned heap to search next; null: the first
constinit heap* look_here = nullptr;  // the next heap to check for a thread that ended without notice
constinit pthread_key_t end_key = 0;
constinit bool has_key = false;
constinit std::atomic<bool> watches_forks{false};
constinit std::uintptr_t filling = 0;  // hardened: the pattern that fills blocks in quarantine

constexpr std::uintptr_t wants_notice = 1;
constexpr unsigned count_shift = 48;
constexpr std::uintptr_t pointer_bits = (std::uintptr_t{1} << count_shift) - 16;

block* blocks_of(std::uintptr_t returned) noexcept {
  return reinterpret_cast<block*>(returned & pointer_bits);
}
std::uint32_t count_of(std::uintptr_t returned) noexcept {
  return static_cast<std::uint32_t>(returned >> count_shift);
}

// --- pages in their lists; changed only by the owner, or under heaps_lock if the heap is abandoned ---

void push_front(heap& h, page* p) noexcept {
  page*& first = h.lists[p->size_class];
  p->previous = nullptr;
  p->next = first;
  if (first != &no_page) first->previous = p;
  first = p;
  p->full = false;
}

/// Inserts a page after the one in use, which remains in use.
void push_second(heap& h, page* p) noexcept {
  page* const first = h.lists[p->size_class];
  if (first == &no_page) return push_front(h, p);
  p->full = false;
  p->previous = first;
  p->next = first->next;
  if (p->next != &no_page) p->next->previous = p;
  first->next = p;
}

void remove(heap& h, page* p) noexcept {
  if (h.look_next == p) h.look_next = p->next;
  (p->previous ? p->previous->next : h.lists[p->size_class]) = p->next;
  if (p->next != &no_page) p->next->previous = p->previous;
}

void part_with(heap& h, page* p) noexcept {
  remove(h, p);
  if (h.bins[p->size_class] == p) h.bins[p->size_class] = h.lists[p->size_class];
}

void release(heap& h, page* p) noexcept {
  part_with(h, p);
  p->owner.store(nullptr, std::memory_order_relaxed);
  give_span(p, !h.abandoned.load(std::memory_order_relaxed));
}

/// Takes in the blocks that other threads returned to a page. Afterwards the page does not ask for a notice.
void take_in(page* p) noexcept {
  if (!blocks_of(p->returned.load(std::memory_order_relaxed))) return;
  const std::uintptr_t there = p->returned.exchange(0, std::memory_order_acquire);
  p->used -= count_of(there);
  if (!p->free) {
    p->free = blocks_of(there);
    return;
  }
  block* last = blocks_of(there);
  for (block* next = next_of(last); next; next = next_of(last)) last = next;
  set_next(last, p->free);
  p->free = blocks_of(there);
}

/// The same, but only if the page has no other free block, or if it makes the whole page free.
void collect(page* p) noexcept {
  if (!p->free || count_of(p->returned.load(std::memory_order_relaxed)) == p->used) take_in(p);
}

std::uint64_t draw(heap& h) noexcept {
  h.random ^= h.random << 13;
  h.random ^= h.random >> 7;
  return h.random ^= h.random << 17;
}

/// Carves new blocks: some 4 KiB of them, so that no more memory is touched than needed; if hardened, all of them in random order. Begins
/// at block `first` of the page, and wraps round at the page's end.
bool carve(heap& h, page* p) noexcept {
  const std::uint32_t left = p->reserved - p->carved;
  if (!left) return false;
  const std::uint32_t wanted = static_cast<std::uint32_t>(system_page) / p->block_size;
  std::uint32_t count = chosen.hardened ? left : wanted ? wanted : 1;
  if (count > left) count = left;
  const auto at = [p, start = memory_of(p), first = p->first + p->carved](std::uint32_t k) {
    const std::uint32_t number = first + k < p->reserved ? first + k : first + k - p->reserved;
    return reinterpret_cast<block*>(start + std::size_t{number} * p->block_size);
  };
  if (!chosen.hardened) {
    for (std::uint32_t k = 0; k + 1 < count; ++k) set_next(at(k), at(k + 1));
    set_next(at(count - 1), p->free);
    p->free = at(0);
  } else {
    // Each block goes after a random one of those before it, or in front.
    for (std::uint32_t k = 0; k < count; ++k) {
      const auto previous = static_cast<std::uint32_t>(draw(h) % (k + 1));
      if (previous == k || !p->free) {
        set_next(at(k), p->free);
        p->free = at(k);
      } else {
        set_next(at(k), next_of(at(previous)));
        set_next(at(previous), at(k));
      }
    }
  }
  p->carved += count;
  return true;
}

page* add_page(heap& h, std::size_t size_class) noexcept {
  std::size_t dirty = 0;
  page* const p = take_span(slices_of_class(size_class), dirty);
  if (!p) return nullptr;
  p->size_class = static_cast<std::uint8_t>(size_class);
  p->block_size = static_cast<std::uint32_t>(class_size(size_class));
  p->reserved = static_cast<std::uint32_t>(bytes_of(p) / p->block_size);
  const std::size_t place = segment_of(p)->index_of(p) * system_page % slice;
  p->first = static_cast<std::uint32_t>(place / p->block_size) % p->reserved;
  p->owner.store(&h, std::memory_order_relaxed);
  push_front(h, p);
  return p;
}

/// slow_at of a free page that stays for the next request of its size, as the only page of that size, until trim_heap().
constexpr std::uint32_t stays = ~std::uint32_t{0};

void settle(heap& h, page* p) noexcept {
  if (p->used) {
    p->slow_at = 0;
  } else if (h.lists[p->size_class] == p && p->next == &no_page &&
             !h.abandoned.load(std::memory_order_relaxed)) {
    p->slow_at = stays;
  } else {
    release(h, p);
  }
}

/// Releases all pages that are free by now.
void trim_heap(heap& h) noexcept {
  for (page* p : h.lists)
    while (p != &no_page) {
      page* const next = p->next;
      take_in(p);
      p->slow_at = 0;
      if (!p->used) release(h, p);
      p = next;
    }
}

/// Looks at the next listed page, because other threads return blocks to it without a notice, and releases it if it is free. Some of the
/// pages that stay are passed over, so that a few sizes that a program uses in turn keep their pages.
void look_around(heap& h) noexcept {
  constexpr std::size_t most_spared = 128 << 10;  // bytes of carved blocks
  for (std::size_t lists = 0; lists < num_classes;) {
    page* const p = h.look_next;
    if (p == &no_page) {
      ++lists;
      h.look_class = (h.look_class + 1) % num_classes;
      h.look_next = h.lists[h.look_class];
      if (h.look_class == 0) h.spared = 0;
      continue;
    }
    h.look_next = p->next;
    collect(p);
    if (p->used) return;
    const std::size_t touched = std::size_t{p->carved} * p->block_size;
    if (p->slow_at != stays || h.spared + touched > most_spared) {
      p->slow_at = 0;
      return release(h, p);
    }
    h.spared += touched;
  }
}

/// Lists a page that was full. False if another thread is about to notify; the page then waits for that.
bool relist(heap& h, page* p) noexcept {
  if (!(p->returned.fetch_and(~wants_notice, std::memory_order_acq_rel) & wants_notice)) return false;
  collect(p);
  push_second(h, p);
  settle(h, p);
  return true;
}

void read_notices(heap& h) noexcept {
  if (!h.notices.load(std::memory_order_relaxed)) return;
  for (page* p = h.notices.exchange(nullptr, std::memory_order_acquire); p;) {
    page* const next = p->next_notice;
    collect(p);
    push_second(h, p);
    settle(h, p);
    p = next;
  }
}

/// Takes a full page out of its list until another thread returns a block, or its own thread an eighth of the blocks. So few requests
/// search for a page. False if another thread has just returned a block.
bool set_full(heap& h, page* p) noexcept {
  std::uintptr_t nothing = 0;
  if (!p->returned.compare_exchange_strong(nothing, wants_notice, std::memory_order_acq_rel)) return false;
  remove(h, p);
  p->full = true;
  p->slow_at = p->used - (p->reserved < 16 ? 1 : p->reserved / 8);
  return true;
}

/// A listed page of a thread that has ended becomes this thread's; null if none of a few heaps has one. The next search goes on from there,
/// so that each heap has its turn. Full pages stay in their heap, to which their notices go.
page* inherit(heap& h, std::size_t size_class) noexcept {
  if (!abandoned_heaps.load(std::memory_order_relaxed)) return nullptr;
  const locked hold(heaps_lock);
  for (int looks = 0; looks < 16; ++looks) {
    if (!inherit_here && !(inherit_here = abandoned_heaps.load(std::memory_order_relaxed))) return nullptr;
    page* const p = inherit_here->lists[size_class];
    if (p != &no_page) {
      part_with(*inherit_here, p);
      push_front(h, p);
      p->owner.store(&h, std::memory_order_release);
      return p;
    }
    inherit_here = inherit_here->next_abandoned;
  }
  return nullptr;
}

/// The page to take a block from; null if there is no memory.
page* page_with_block(heap& h, std::size_t size_class) noexcept {
  read_notices(h);
  while (true) {
    page* p = h.lists[size_class];
    if (p == &no_page && !(p = inherit(h, size_class))) break;
    collect(p);
    if (p->free || carve(h, p)) return p;
    set_full(h, p);
  }
  look_around(h);
  page* const p = add_page(h, size_class);
  if (p) carve(h, p);
  return p;
}

[[noreturn]] void report_double(const void* memory) noexcept { die("double free", memory); }

bool is_free(const page* p, const block* b) noexcept {
  std::uint32_t left = p->reserved;
  for (const block* other = p->free; other && left; other = next_of(other), --left) {
    if (other == b) return true;
    if (!is_link(link_of(other))) return false;
  }
  return false;
}

bool empty_quarantine(heap& h) noexcept;

/// The result of take(), which must not call malloc(). If the kernel refuses, everything that is kept goes back to it, and take() is tried
/// once more. One thread at a time does this, because another may be giving back what is needed. After that, a hardened thread empties its
/// quarantine, but only if its blocks, counted as the largest runs, could serve the request. So nobody can empty it by making a program ask
/// for too much.
template <class Take>
auto insist(std::size_t bytes, Take take) noexcept {
  auto taken = take();
  if (taken) return taken;
  const locked hold(refused_lock);
  trim();
  taken = take();
  if (taken || !own || own->quarantined * largest_run < bytes || !empty_quarantine(*own)) return taken;
  trim();
  return take();
}

void* try_large(std::size_t bytes, std::size_t alignment, std::size_t& dirty) noexcept {
  if (bytes > largest_run - guard_bytes() || alignment > slice) return take_mapping(bytes, alignment, dirty);
  page* const run = take_span(static_cast<unsigned>((bytes + guard_bytes() + slice - 1) / slice), dirty);
  if (!run) return nullptr;
  run->block_size = static_cast<std::uint32_t>(bytes_of(run));
  return memory_of(run);
}

void* take_large(std::size_t bytes, std::size_t alignment, std::size_t& dirty) noexcept {
  read_environment();
  if (bytes >= address_space || alignment >= address_space) return nullptr;
  return insist(std::max(bytes, alignment), [&] { return try_large(bytes, alignment, dirty); });
}

// --- blocks of other threads' pages ---

/// False if another thread has taken the heap or the page by now.
bool give_to_abandoned(const heap& h, page* to, block* first, std::uint32_t count) noexcept {
  const locked hold(heaps_lock);
  if (!h.abandoned.load(std::memory_order_relaxed) || h.lost ||
      to->owner.load(std::memory_order_relaxed) != &h)
    return false;
  if (!to->full) take_in(to);  // blocks that came while its thread was ending
  for (block* b = first; count > 0; --count) {
    block* const next = next_of(b);
    b->word = 0;
    give_to_page(to, b);
    b = next;
  }
  return true;
}

/// In a child of fork(): a page of a thread that only the parent has becomes this thread's. That thread may have been changing the page, so
/// all its blocks count as in use, except those that other threads returned. False if this thread has no heap.
bool adopt(page* p) noexcept {
  const locked hold(heaps_lock);
  if (!p->owner.load(std::memory_order_relaxed)->lost) return true;  // another thread was first
  if (!own) return false;
  p->free = nullptr;
  p->used = p->carved = p->reserved;
  p->slow_at = 0;
  p->returned.fetch_and(~wants_notice, std::memory_order_relaxed);
  push_second(*own, p);
  p->owner.store(own, std::memory_order_release);
  return true;
}

/// Returns `count` linked blocks to a page that this thread may not change.
void send(page* to, block* first, block* last, std::uint32_t count) noexcept {
  if (to->owner.load(std::memory_order_relaxed)->lost && !adopt(to)) return;
  heap* owner = to->owner.load(std::memory_order_acquire);
  if (owner->abandoned.load(std::memory_order_acquire) && give_to_abandoned(*owner, to, first, count))
    return age_spans();
  std::uintptr_t there = to->returned.load(std::memory_order_relaxed), after = 0;
  do {
    set_next(last, blocks_of(there));
    after = reinterpret_cast<std::uintptr_t>(first) | (std::uintptr_t{count_of(there)} + count)
                                                          << count_shift;
  } while (!to->returned.compare_exchange_weak(there, after, std::memory_order_acq_rel,
                                               std::memory_order_relaxed));
  if (!(there & wants_notice)) return;
  // The heap that owns the page now keeps it until it reads the notice, because the page is in no list.
  owner = to->owner.load(std::memory_order_acquire);
  page* front = owner->notices.load(std::memory_order_relaxed);
  do {
    to->next_notice = front;
  } while (
      !owner->notices.compare_exchange_weak(front, to, std::memory_order_release, std::memory_order_relaxed));
}

void flush(parcel& full) noexcept {
  if (!full.size) return;
  const parcel sent = full;
  full = {};
  send(sent.to, sent.first, sent.last, sent.size);
}

constexpr std::uint32_t parcel_blocks = 32, parcel_bytes = 16384;

}  // namespace

void post(heap& h, page* to, block* b) noexcept {
  const std::uintptr_t number = reinterpret_cast<std::uintptr_t>(b) / slice;
  parcel& mine = h.parcels[(number ^ number / 64) % h.parcels.size()];
  if (mine.to != to) flush(mine);
  if (is_link(link_of(b)))
    for (const block* other = mine.first; other; other = next_of(other))
      if (other == b) report_double(b);
  set_next(b, mine.first);
  if (!mine.size) {
    mine.to = to;
    mine.last = b;
  }
  mine.first = b;
  if (++mine.size >= parcel_blocks || mine.size * to->block_size >= parcel_bytes) flush(mine);
}

namespace {

// --- heaps and their threads ---

/// A robust mutex, because the kernel marks it if its thread ends without notice. A look at the mark is no system call, so that threads may
/// start in a sandbox that forbids nearly all. Not made by pthread_mutex_init(), whose preloaded wrapper may allocate.
void renew_life(heap& h) noexcept {
  constexpr int robust = 16;  // of glibc's ABI
  h.life = pthread_mutex_t PTHREAD_MUTEX_INITIALIZER;
  h.life.__data.__kind = robust;
}

/// Whether the thread ended without notice. Then the heap is the caller's.
bool has_ended(heap& h) noexcept {
  const int got = pthread_mutex_trylock(&h.life);
  if (got == 0) pthread_mutex_unlock(&h.life);  // nobody has the heap
  return got == EOWNERDEAD && pthread_mutex_consistent(&h.life) == 0;
}

/// A heap whose thread has ended. Each call checks one of all heaps for a thread that ended without notice, even if other threads have
/// given notice. If none has, it checks a few.
heap* find_abandoned() noexcept {
  heap* const noticed = abandoned_heaps.load(std::memory_order_relaxed);
  for (int looks = noticed ? 1 : 4; looks > 0; --looks) {
    if (!look_here && !(look_here = all_heaps)) return nullptr;
    heap* const h = look_here;
    look_here = h->next;
    if (!h->lost && has_ended(*h)) return h;
  }
  if (!noticed) return nullptr;
  abandoned_heaps.store(noticed->next_abandoned, std::memory_order_relaxed);
  if (inherit_here == noticed) inherit_here = noticed->next_abandoned;
  return noticed;
}

/// Call with the lock held. It is released while the kernel works.
heap* make_heap() noexcept {
  static_assert(sizeof(heap) <= system_page);
  heaps_lock.leave();
  void* const room = map(system_page);
  heap* const made = room ? new (room) heap{no_pages, no_pages, {}, &no_page} : nullptr;
  if (made) {
    made->random = random_word() | 1;
    renew_life(*made);
  }
  heaps_lock.take();
  if (!made) return nullptr;
  made->next = all_heaps;
  return all_heaps = made;
}

void end_of_thread(void*) noexcept;
void fill_anew() noexcept;

/// The calling thread's heap, made if need be; null if there is no memory.
heap* attached() noexcept {
  if (own) return own;
  read_environment();
  watch_forks();
  if (own) return own;  // registering may have asked for memory
  bool key = false;
  heap* const mine = insist(0, [&key]() -> heap* {
    const locked hold(heaps_lock);
    if (!secret) {
      secret = random_word() & ~std::uintptr_t{15};
      filling = random_word() | 1;
    }
    if (!has_key) has_key = pthread_key_create(&end_key, end_of_thread) == 0;
    key = has_key;
    heap* found = find_abandoned();
    if (!found) found = make_heap();
    if (!found) return nullptr;
    static_cast<void>(pthread_mutex_trylock(&found->life));
    found->abandoned.store(false, std::memory_order_relaxed);
    return found;
  });
  if (!mine) return nullptr;
  own = mine;
  if (!chosen.hardened) current = mine;
  if (key) pthread_setspecific(end_key, mine);  // may call malloc(), which then uses this heap
  return mine;
}

/// Whether this can be the link of a free block of that page.
bool is_block(page* p, const block* next) noexcept {
  if (!next) return true;
  const auto offset = reinterpret_cast<std::uintptr_t>(next) - reinterpret_cast<std::uintptr_t>(memory_of(p));
  const std::uintptr_t number = offset / p->block_size;
  const std::uintptr_t since_first = number + (number < p->first ? p->reserved : 0) - p->first;
  return number < p->reserved && since_first < p->carved && offset % p->block_size == 0;
}

/// A block of a page, which may have to be made first; null if there is no memory.
void* take_from_page(std::size_t size_class) noexcept {
  heap* const mine = attached();
  page* const p =
      mine ? insist(class_size(size_class), [&] { return page_with_block(*mine, size_class); }) : nullptr;
  if (!p) return nullptr;
  mine->bins[size_class] = p;
  if (chosen.hardened && !is_block(p, next_of(p->free))) die("free memory was written to", p->free);
  return take_first(p);
}

/// A destructor of the thread may run after this and ask for memory. Then the thread gets a heap again, and this function is called again.
void end_of_thread(void*) noexcept {
  heap* const left = own;
  if (!left) return;
  is_ending = true;
  current = &no_heap;
  empty_quarantine(*left);
  for (parcel& one : left->parcels) flush(one);
  own = nullptr;
  read_notices(*left);
  trim_heap(*left);
  const locked hold(heaps_lock);
  pthread_mutex_unlock(&left->life);
  left->next_abandoned = abandoned_heaps.load(std::memory_order_relaxed);
  abandoned_heaps.store(left, std::memory_order_relaxed);
  left->abandoned.store(true, std::memory_order_release);
}

// --- fork ---

/// A process of one thread may fork in a signal handler that interrupted us while we held a lock. The same
/// thread releases that lock later.
bool is_single_threaded() noexcept { return &__libc_single_threaded && __libc_single_threaded; }

/// Since 2.36, glibc releases its lock on the list of handlers while a handler runs, and takes it again when it has our locks. A thread
/// that registers a handler holds that lock, and may ask for memory to enlarge the list, so it may wait for our locks. So both take
/// registration_lock first. An earlier glibc keeps its lock while handlers run; there registration_lock would be taken in the wrong order,
/// and is not needed.
bool unlocks_for_handlers() noexcept { return strverscmp(gnu_get_libc_version(), "2.36") >= 0; }

/// glibc's fork() takes its lock on all streams after our handler. A thread with that lock may wait for a
/// stream's lock, and a thread with a stream's lock may wait for memory. So we take the lock on all streams before ours, as glibc does
/// before those of its own malloc(). It is recursive.
void before_fork() noexcept {
  if (is_single_threaded()) return;
  enter_registration();
  if (_IO_list_lock) _IO_list_lock();
  refused_lock.take();
  heaps_lock.take();
  span_lock.take();
  mapping_lock.take();
  in_fork = true;
}

void leave_all() noexcept {
  in_fork = false;
  mapping_lock.leave();
  span_lock.leave();
  heaps_lock.leave();
  refused_lock.leave();
  leave_registration();
}

void after_fork_in_parent() noexcept {
  if (!in_fork) return;
  leave_all();
  if (_IO_list_unlock) _IO_list_unlock();
}

/// Other threads may have been at any point when the process forked, so their heaps are left as they are. If the child returns a block of
/// theirs, its page is used again (adopt()).
void after_fork_in_child() noexcept {
  for (heap* h = all_heaps; h; h = h->next)
    if (h != own && !h->abandoned.load(std::memory_order_relaxed)) h->lost = true;
  if (own) {
    renew_life(*own);  // the child's thread has another number
    static_cast<void>(pthread_mutex_trylock(&own->life));
    own->random = random_word() | 1;  // another order than the parent's
  }
  if (!in_fork) return;
  fill_anew();
  leave_all();
  if (_IO_list_resetlock) _IO_list_resetlock();
}

// --- hardened ---

/// The most blocks, and the most bytes, in a thread's quarantine.
constexpr std::size_t quarantine_length = 256, quarantine_bytes = quarantine_length * largest_block;

std::size_t filled_words(const page* p) noexcept {
  return (p->block_size < system_page ? p->block_size : system_page) / sizeof filling;
}

/// Depends on the address too, so that a copy elsewhere does not match.
std::uintptr_t filling_of(const void* memory) noexcept {
  return filling ^ reinterpret_cast<std::uintptr_t>(memory);
}

/// Whether a block is in any thread's quarantine: only a quarantine fills a block in this way.
bool is_filled(const void* memory, std::size_t words) noexcept {
  const auto* const at = static_cast<const std::uintptr_t*>(memory);
  for (std::size_t k = 0; k < words; ++k)
    if (at[k] != filling_of(memory)) return false;
  return filling != 0;
}

void expect_filled(const void* memory) noexcept {
  if (!is_filled(memory, filled_words(page_of(memory)))) die("free memory was written to", memory);
}

void leave_quarantine(heap& h, void* memory) noexcept {
  expect_filled(memory);
  auto* const b = static_cast<block*>(memory);
  page* const p = page_of(b);
  b->word = 0;
  if (is_run(p)) return give_span(p, true);
  p->owner.load(std::memory_order_relaxed) == &h ? give_to_page(p, b) : post(h, p, b);
}

void fill(void* memory) noexcept {
  std::fill_n(static_cast<std::uintptr_t*>(memory), filled_words(page_of(memory)), filling_of(memory));
}

/// In a child of fork(), only this thread's quarantine counts. glibc may return a block of thread-local memory that a thread of the parent
/// was returning.
void fill_anew() noexcept {
  if (!chosen.hardened) return;
  filling = random_word() | 1;
  for (std::size_t k = 0; own && k < own->quarantined; ++k) fill(own->quarantine[k]);
}

/// A random block that is larger than `size` leaves the quarantine.
void leave_at_random(heap& h, std::size_t size) noexcept {
  void** drawn = nullptr;
  do {
    drawn = &h.quarantine[draw(h) % h.quarantined];
  } while (page_of(*drawn)->block_size <= size);
  void* const memory = std::exchange(*drawn, h.quarantine[--h.quarantined]);
  h.quarantined_bytes -= page_of(memory)->block_size;
  leave_quarantine(h, memory);
}

/// False if it was empty.
bool empty_quarantine(heap& h) noexcept {
  if (!h.quarantined) return false;
  while (h.quarantined) leave_at_random(h, 0);
  return true;
}

/// Keeps a returned block for a while. When the block leaves, its filling must be unchanged.
void quarantine(heap& h, void* memory) noexcept {
  fill(memory);
  if (!h.quarantine) h.quarantine = static_cast<void**>(map((quarantine_length + 1) * sizeof(void*)));
  if (!h.quarantine) return leave_quarantine(h, memory);
  h.quarantine[h.quarantined++] = memory;
  h.quarantined_bytes += page_of(memory)->block_size;
  if (h.quarantined > quarantine_length) leave_at_random(h, 0);
  while (h.quarantined_bytes > quarantine_bytes) leave_at_random(h, largest_block);  // small blocks stay
}

/// The page of a block. Ends the program if no block begins there; within a page, that is checked only if
/// hardened.
page* page_of_block(const void* memory) noexcept {
  page* const p = page_of(memory);
  if (!p->block_size) die("free() or realloc() of memory that is not in use", memory);
  const auto offset = static_cast<std::size_t>(static_cast<const char*>(memory) - memory_of(p));
  if (is_run(p) ? offset != 0 : chosen.hardened && offset % p->block_size)
    die("free() or realloc() of a pointer into a block", memory);
  if (chosen.hardened && is_filled(memory, filled_words(p))) report_double(memory);
  return p;
}

}  // namespace

void enter_registration() noexcept {
  if (unlocks_for_handlers()) registration_lock.take();
}
void leave_registration() noexcept {
  if (unlocks_for_handlers()) registration_lock.leave();
}

/// Before a fork, handlers run in reverse order. Ours are registered first, and so run last: a library that
/// allocates under a lock of its own, and takes that lock in a handler, has it by then. Other libraries start
/// before a preloaded one, so __register_atfork() calls this too.
[[gnu::constructor(101)]] void watch_forks() noexcept {
  if (!watches_forks.exchange(true)) pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

void give_suspected(page* p, block* b) noexcept {
  if (is_free(p, b)) report_double(b);
  b->word = 0;
  give_to_page(p, b);
}

/// Called after a return that left slow_at blocks in use.
void take_back(page* p) noexcept {
  heap& h = *p->owner.load(std::memory_order_relaxed);
  if (!p->full) return settle(h, p);
  if (!relist(h, p)) p->slow_at = stays;  // until the notice comes
}

void* take(std::size_t bytes) noexcept {
  std::size_t dirty = 0;
  if (bytes > largest_block) return take_large(bytes, 16, dirty);
  void* const memory = take_at_hand(bytes);
  return memory ? memory : take_from_page(class_of(bytes));
}

void give_slowly(void* memory) noexcept {
  if (!memory) return;
  if (!is_in_segment(memory)) {
    if (!give_mapping(memory))
      die("free() of a pointer that malloc() did not give, or that was freed already", memory);
    return;
  }
  page* const p = page_of_block(memory);
  auto* const b = static_cast<block*>(memory);
  if (!chosen.hardened && is_run(p)) return give_span(p, true);
  heap* const mine = is_ending ? own : attached();  // a thread needs parcels even if it never asks for memory
  if (mine && chosen.hardened) {
    if (p->owner.load(std::memory_order_relaxed) == mine && is_link(link_of(b)) && is_free(p, b))
      report_double(b);
    return quarantine(*mine, memory);
  }
  if (is_run(p)) return give_span(p, true);
  if (!mine) return set_next(b, nullptr), send(p, b, b, 1);
  post(*mine, p, b);
}

void* take_aligned(std::size_t bytes, std::size_t alignment) noexcept {
  if (alignment <= 16) return take(bytes);
  std::size_t dirty = 0;
  if (bytes > largest_block || alignment > largest_block) return take_large(bytes, alignment, dirty);
  const std::size_t least = bytes > alignment ? round_up(bytes, alignment) : alignment;
  std::size_t c = class_of(least);
  while (class_size(c) % alignment) ++c;
  return take(class_size(c));
}

void* take_zeroed(std::size_t bytes) noexcept {
  std::size_t dirty = bytes;
  void* const memory = bytes > largest_block ? take_large(bytes, 16, dirty) : take(bytes);
  if (memory) memset(memory, 0, std::min(dirty, bytes));
  return memory;
}

std::size_t usable_bytes(const void* memory) noexcept {
  return is_in_segment(memory) ? page_of(memory)->block_size : mapping_bytes(memory);
}

void* resize(void* memory, std::size_t bytes) noexcept {
  const bool in_segment = is_in_segment(memory);
  page* const p = in_segment ? page_of_block(memory) : &no_page;
  const std::size_t have = in_segment ? p->block_size : mapping_bytes(memory);
  if (!have) die("realloc() of a pointer that malloc() did not give, or that was freed already", memory);
  const bool is_half_used = bytes >= have / 2 || have <= 64;
  const bool shrinks_in_place = have > largest_block && !guard_bytes();
  if (bytes <= have && (shrinks_in_place ? have - bytes < slice : is_half_used)) return memory;
  if (bytes >= address_space) return nullptr;
  if (!in_segment) {
    if (!guard_bytes() && (bytes > largest_run || is_half_used)) {
      void* same = resize_mapping(memory, bytes);
      // EFAULT: the program advised only parts of the block, which cannot be moved.
      if (!same && errno != EFAULT) same = insist(bytes, [&] { return resize_mapping(memory, bytes); });
      if (same) return same;
    }
  } else if (is_run(p) && bytes > largest_block && bytes <= largest_run) {
    if (resize_run(p, static_cast<unsigned>((bytes + slice - 1) / slice))) return memory;
  }
  void* const moved = take(bytes);
  if (!moved) return bytes <= have ? memory : nullptr;
  memcpy(moved, memory, bytes < have ? bytes : have);
  give(memory);
  return moved;
}

/// The loader asks for memory before the C library has the environment. Its blocks are not hardened.
void begin_process() noexcept {
  if (chosen.hardened) current = &no_heap;
}

void end_process() noexcept {
  if (!own) return;
  for (std::size_t k = 0; k < own->quarantined; ++k) expect_filled(own->quarantine[k]);
}

bool trim() noexcept {
  if (heap* const mine = own) {
    for (parcel& one : mine->parcels) flush(one);
    read_notices(*mine);
    trim_heap(*mine);
  }
  {
    const locked hold(heaps_lock);
    for (heap* h = all_heaps; h; h = h->next) {
      if (!h->abandoned.load(std::memory_order_relaxed) || h->lost) continue;
      read_notices(*h);
      trim_heap(*h);
    }
  }
  return purge_spans() + purge_mappings() > 0;
}

heap_counts count_heaps() noexcept {
  const locked hold(heaps_lock);
  heap_counts counts{};
  for (const heap* h = all_heaps; h; h = h->next) {
    ++counts.heaps;
    counts.abandoned += h->abandoned.load(std::memory_order_relaxed);
  }
  return counts;
}

}  // namespace corescale::process_heap
