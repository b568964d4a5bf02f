// SPDX-License-Identifier: Apache-2.0
// What a thread has, what is done when it or the process ends, and what a fork() leaves.
#include "lifetime.hpp"

#include <pthread.h>

#include <atomic>
#include <cstdlib>

#include "corescale/machine/thread_end.hpp"
#include "registry.hpp"
#include "system_memory.hpp"

namespace corescale::inline v0::detail {
namespace {

// What a thread that has no memory yet points at. Written by nobody: its lists are empty, so nothing is taken
// from them, and no stamp is 0, so nothing is put there.
constinit pool no_memory(0, 0);

void end_of_thread() noexcept {
  pool* const mine = own_pool;
  if (!mine) return;
  current_pool = &no_memory;
  own_pool = nullptr;
  pools.detach(*mine);
}

// A fork() while another thread holds one of these would leave it locked in the child for ever. The accounts
// of other threads are lost there, and so never locked.
void lock() {
  pools.mutex.lock();
  if (pool* const mine = own_pool) mine->account.mutex.lock();
}

void unlock() {
  if (pool* const mine = own_pool) mine->account.mutex.unlock();
  pools.mutex.unlock();
}

/// What another thread was about to put into the inbox never arrives.
void begin_child() {
  pool* const mine = own_pool;
  pools.forget_others(mine);
  unlock();
  if (!mine) return;
  mine->drain();
  mine->inbox_bytes.store(0, std::memory_order_relaxed);
}

// LeakSanitizer reads no pointer in poisoned memory, and so would report every held block behind the first of its
// list: it looks after this.
void end_of_process() {
  pools.set_hold(false);
  end_of_thread();
}

// From the library's load on: a fork() never finds one thread in the middle of this.
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
  // Not at the library's load: LeakSanitizer looks at what comes before, and this is to come first.
  if (address_sanitizer_watches() && !watched.test_and_set()) std::atexit(end_of_process);
}

}  // namespace corescale::detail
