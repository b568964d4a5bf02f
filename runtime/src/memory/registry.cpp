// SPDX-License-Identifier: Apache-2.0
#include "registry.hpp"

#include <sys/mman.h>

#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>

#include "lifetime.hpp"

namespace corescale::inline v0::detail {
namespace {

using alloc_variant::contiguous;

// Never destroyed: objects with static lifetime may return memory after any destructor of ours.
template <class Variant>
constinit registry<Variant> the_registry{};

template <class Variant>
pool<Variant>* make_pool(void* room, std::size_t number) {
  if constexpr (std::is_constructible_v<typename Variant::accounts, contiguous_slice>) {
    return new (room) pool<Variant>(number, 0, slice_of_thread(number));
  } else {
    return new (room) pool<Variant>(number, 0);
  }
}

void clear(const contiguous_slice& slice) noexcept {
  for (std::size_t c = 0; c < num_lists; ++c) slice.roots[c] = nullptr;
  slice.inuse->subtract(slice.inuse->get());
  slice.available->subtract(slice.available->get());
}

/// Whether a thread that is not here was in the middle of a change of the account. Another one's as well, as any
/// thread may return a block.
bool was_left_locked(in_use_account& account) noexcept {
  if (!account.mutex.try_lock()) return true;
  account.mutex.unlock();
  return false;
}

}  // namespace

template <class Variant>
registry<Variant>& pools() noexcept {
  return the_registry<Variant>;
}

template <class Variant>
pool<Variant>* registry<Variant>::find(std::size_t number) noexcept {
  pool<Variant>* found = bucket_of(number);
  while (found && found->number != number) found = found->next_pool;
  return found;
}

template <class Variant>
pool<Variant>& registry<Variant>::attach() {
  watch_this_thread();
  const std::lock_guard lock(mutex);
  return enliven(live_.least_free());
}

template <class Variant>
pool<Variant>* registry<Variant>::attach(std::size_t number) {
  watch_this_thread();
  const std::lock_guard lock(mutex);
  const pool<Variant>* const there = find(number);
  return there && there->live ? nullptr : &enliven(number);
}

template <class Variant>
void registry<Variant>::detach(pool<Variant>& left) {
  left.receives.store(false, std::memory_order_release);
  left.flush_all();
  left.drain();
  left.release_available();
  const std::lock_guard lock(mutex);
  left.live = false;
  live_.erase(left.number);
}

template <class Variant>
pool<Variant>& registry<Variant>::enliven(std::size_t number) {
  live_.insert(number);
  try {
    pool<Variant>* const there = find(number);
    pool<Variant>& p = there ? *there : insert(number);
    p.live = true;
    p.receives.store(true, std::memory_order_release);
    return p;
  } catch (...) {
    live_.erase(number);
    throw;
  }
}

/// Several at once, as the first touch of a page costs a thread more than all else that its first request does.
template <class Variant>
void registry<Variant>::add_rooms() {
  constexpr std::size_t page = 4096;
  constexpr std::size_t bytes = (8 * sizeof(pool<Variant>) + page - 1) / page * page;
  void* const start = std::aligned_alloc(page, bytes);
  if (!start) throw std::bad_alloc();
#ifdef MADV_POPULATE_WRITE
  madvise(start, bytes, MADV_POPULATE_WRITE);  // where the kernel knows it
#endif
  for (std::size_t k = 0; k < bytes / sizeof(pool<Variant>); ++k)
    rooms_ = new (static_cast<char*>(start) + k * sizeof(pool<Variant>)) room{rooms_};
}

template <class Variant>
pool<Variant>& registry<Variant>::insert(std::size_t number) {
  if (!rooms_) add_rooms();
  room* const next = rooms_->next;
  pool<Variant>* const made = make_pool<Variant>(rooms_, number);  // may throw, before it wrote there
  rooms_ = next;
  made->accepts = hold_ ? made->stamp(in_use) : 0;
  if (++size_ > num_buckets_) widen();
  made->next_pool = bucket_of(number);
  bucket_of(number) = made;
  return *made;
}

/// Without memory for more buckets their chains grow instead.
template <class Variant>
void registry<Variant>::widen() noexcept {
  void* const made = std::calloc(2 * num_buckets_, sizeof(pool<Variant>*));
  if (!made) return;
  pool<Variant>** const old = buckets_;
  const std::size_t old_number = num_buckets_;
  buckets_ = static_cast<pool<Variant>**>(made);
  num_buckets_ *= 2;
  for (std::size_t k = 0; k < old_number; ++k) {
    while (pool<Variant>* const p = old[k]) {
      old[k] = p->next_pool;
      p->next_pool = bucket_of(p->number);
      bucket_of(p->number) = p;
    }
  }
  if (old != first_buckets_.data()) std::free(old);
}

template <class Variant>
void registry<Variant>::destroy(pool<Variant>& dead) noexcept {
  if (const std::size_t returned_by_others = dead.inuse())
    dead.ended_in_use(returned_by_others);  // a slice of the shared vectors outlives its pool
  std::destroy_at(&dead);
  rooms_ = new (static_cast<void*>(&dead)) room{rooms_};
}

template <class Variant>
void registry<Variant>::set_hold(bool hold) noexcept {
  const std::lock_guard lock(mutex);
  hold_ = hold && Variant::holds;
  for_each([this](pool<Variant>& p) { p.accepts = hold_ ? p.stamp(in_use) : 0; });
}

/// What they hold is lost: a thread may have been in the middle of any change.
template <class Variant>
void registry<Variant>::forget_others(pool<Variant>* mine) noexcept {
  extract_if([mine](pool<Variant>& p) { return &p != mine && (p.live || was_left_locked(p.account)); },
             [this](pool<Variant>& p) {
               p.lost = true;
               p.receives.store(false, std::memory_order_relaxed);
               p.next_pool = lost_;
               lost_ = &p;
               live_.erase(p.number);
               if constexpr (std::is_same_v<Variant, contiguous>) clear(p.slice());
             });
}

#define CORESCALE_INSTANTIATE(variant)             \
  template class registry<alloc_variant::variant>; \
  template registry<alloc_variant::variant>& pools() noexcept;
CORESCALE_FOR_EACH_ALLOC_VARIANT(CORESCALE_INSTANTIATE)
#undef CORESCALE_INSTANTIATE

}  // namespace corescale::detail
