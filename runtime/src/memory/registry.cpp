// SPDX-License-Identifier: Apache-2.0
#include "registry.hpp"

#include <pthread.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>

#include "corescale/machine/thread_end.hpp"
#include "system_memory.hpp"

namespace corescale::inline v0::detail {

// --- what a thread has, what is done when it or the process ends, and what a fork() leaves ---

namespace {

// The pool of threads that have no memory yet. Nobody writes to it. Its lists are empty, so nothing is taken from them. No stamp is 0, so
// nothing is put into them.
constinit pool no_memory(0, 0);

void end_of_thread() noexcept {
  pool* const mine = own_pool;
  if (!mine) return;
  current_pool = &no_memory;
  own_pool = nullptr;
  pools.detach(*mine);
}

// If another thread held one of these mutexes during a fork(), it would stay locked in the child for ever. The child forgets the accounts
// of other threads, so their mutexes need not be taken.
void lock() {
  pools.mutex.lock();
  if (pool* const mine = own_pool) mine->account.mutex.lock();
}

void unlock() {
  if (pool* const mine = own_pool) mine->account.mutex.unlock();
  pools.mutex.unlock();
}

/// In the child, blocks that another thread was about to put into the inbox never arrive. So their bytes are no longer counted.
void begin_child() {
  pool* const mine = own_pool;
  pools.forget_others(mine);
  unlock();
  if (!mine) return;
  mine->drain();
  mine->inbox_bytes.store(0, std::memory_order_relaxed);
}

// Runs before LeakSanitizer looks. LeakSanitizer reads no pointer in poisoned memory, so it would report every held block after the first
// of its list.
void end_of_process() {
  pools.set_hold(false);
  end_of_thread();
}

// Registered when the library is loaded, so that no fork() copies a mutex that another thread holds.
[[maybe_unused]] const int handles_forks = pthread_atfork(lock, unlock, begin_child);

void end_of_calling_thread(void*) { end_of_thread(); }

}  // namespace

constinit thread_local pool* current_pool = &no_memory;
constinit thread_local pool* own_pool = nullptr;

constinit thread_end pools_end(end_of_calling_thread);

void watch_this_thread() {
  static const char noticed = 0;
  constinit static std::atomic_flag watched{};
  pools_end.await(&noticed);
  // Not when the library is loaded: functions registered later run earlier, and this must run before
  // LeakSanitizer looks.
  if (address_sanitizer_watches() && !watched.test_and_set()) std::atexit(end_of_process);
}

// --- the pools of all threads ---

namespace {

/// Whether a thread that does not exist in the child was changing the account. It need not be the account's
/// own thread, as any thread may return a block.
bool was_left_locked(in_use_account& account) noexcept {
  if (!account.mutex.try_lock()) return true;
  account.mutex.unlock();
  return false;
}

}  // namespace

constinit registry pools{};

pool* registry::find(std::size_t number) noexcept {
  pool* found = bucket_of(number);
  while (found && found->number != number) found = found->next_pool;
  return found;
}

pool& registry::attach() {
  watch_this_thread();
  const std::lock_guard lock(mutex);
  return enliven(live_.least_free());
}

pool* registry::attach(std::size_t number) {
  watch_this_thread();
  const std::lock_guard lock(mutex);
  const pool* const there = find(number);
  return there && there->live ? nullptr : &enliven(number);
}

void registry::detach(pool& left) {
  left.receives.store(false, std::memory_order_release);
  left.flush_all();
  left.drain();
  left.release_available();
  const std::lock_guard lock(mutex);
  left.live = false;
  live_.erase(left.number);
}

pool& registry::enliven(std::size_t number) {
  live_.insert(number);
  try {
    pool* const there = find(number);
    pool& p = there ? *there : insert(number);
    p.live = true;
    p.receives.store(true, std::memory_order_release);
    return p;
  } catch (...) {
    live_.erase(number);
    throw;
  }
}

/// Several at once, because the first touch of a page costs a thread more than the rest of its first request.
void registry::add_rooms() {
  constexpr std::size_t page = 4096;
  constexpr std::size_t bytes = (8 * sizeof(pool) + page - 1) / page * page;
  void* const start = std::aligned_alloc(page, bytes);
  if (!start) throw std::bad_alloc();
#ifdef MADV_POPULATE_WRITE
  madvise(start, bytes, MADV_POPULATE_WRITE);  // older kernels refuse
#endif
  for (std::size_t k = 0; k < bytes / sizeof(pool); ++k)
    rooms_ = new (static_cast<char*>(start) + k * sizeof(pool)) room{rooms_};
}

pool& registry::insert(std::size_t number) {
  if (!rooms_) add_rooms();
  room* const next = rooms_->next;
  pool* const made = new (rooms_) pool(number, 0);
  rooms_ = next;
  made->accepts = hold_ ? made->stamp(in_use) : 0;
  if (++size_ > num_buckets_) widen();
  made->next_pool = bucket_of(number);
  bucket_of(number) = made;
  return *made;
}

/// If there is no memory for more buckets, their chains grow instead.
void registry::widen() noexcept {
  void* const made = std::calloc(2 * num_buckets_, sizeof(pool*));
  if (!made) return;
  pool** const old = buckets_;
  const std::size_t old_number = num_buckets_;
  buckets_ = static_cast<pool**>(made);
  num_buckets_ *= 2;
  for (std::size_t k = 0; k < old_number; ++k) {
    while (pool* const p = old[k]) {
      old[k] = p->next_pool;
      p->next_pool = bucket_of(p->number);
      bucket_of(p->number) = p;
    }
  }
  if (old != first_buckets_.data()) std::free(old);
}

void registry::destroy(pool& dead) noexcept {
  std::destroy_at(&dead);
  rooms_ = new (static_cast<void*>(&dead)) room{rooms_};
}

void registry::set_hold(bool hold) noexcept {
  const std::lock_guard lock(mutex);
  hold_ = hold;
  for_each([this](pool& p) { p.accepts = hold_ ? p.stamp(in_use) : 0; });
}

/// What they hold is lost: a thread may have been in the middle of any change.
void registry::forget_others(pool* mine) noexcept {
  extract_if([mine](pool& p) { return &p != mine && (p.live || was_left_locked(p.account)); },
             [this](pool& p) {
               p.lost = true;
               p.receives.store(false, std::memory_order_relaxed);
               p.next_pool = lost_;
               lost_ = &p;
               live_.erase(p.number);
             });
}

}  // namespace corescale::detail
