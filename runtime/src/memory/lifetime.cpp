// SPDX-License-Identifier: Apache-2.0
// What a thread has of each variant, what is done when it or the process ends, and what a fork() leaves.
#include "lifetime.hpp"

#include <pthread.h>

#include <array>
#include <atomic>
#include <cstdlib>

#include "corescale/machine/thread_end.hpp"
#include "registry.hpp"
#include "system_memory.hpp"

namespace corescale::inline v0::detail {
namespace {

using alloc_variant::contiguous;
using alloc_variant::per_thread;
using alloc_variant::separate;
using alloc_variant::system;

// What a thread that has no memory yet points at. Written by nobody: its lists are empty, so nothing is taken
// from them, and no stamp is 0, so nothing is put there.
constinit pool<per_thread> no_per_thread(0, 0);
constinit pool<separate> no_separate(0, 0);
constinit pool<system> no_system(0, 0);
constinit std::array<block*, num_lists> no_roots{};
constinit byte_count no_bytes;
constinit pool<contiguous> no_contiguous(0, 0, contiguous_slice{no_roots.data(), &no_bytes, &no_bytes});

#define CORESCALE_OWN_POOL(variant) \
  constinit thread_local pool<variant>* own_##variant __attribute__((tls_model("initial-exec"))) = nullptr;
CORESCALE_FOR_EACH_ALLOC_VARIANT(CORESCALE_OWN_POOL)
#undef CORESCALE_OWN_POOL

template <class Function>
void for_each_variant(Function function) {
#define CORESCALE_CALL(variant) function(variant{});
  CORESCALE_FOR_EACH_ALLOC_VARIANT(CORESCALE_CALL)
#undef CORESCALE_CALL
}

template <class Variant>
void end_of_thread() noexcept {
  pool<Variant>* const mine = own_pool<Variant>();
  if (!mine) return;
  current_pool<Variant>() = unattached<Variant>();
  own_pool<Variant>() = nullptr;
  pools<Variant>().detach(*mine);
}

// A fork() while another thread holds one of these would leave it locked in the child for ever. The accounts
// of other threads are lost there, and so never locked.
template <class Variant>
void lock() {
  pools<Variant>().mutex.lock();
  if (pool<Variant>* const mine = own_pool<Variant>()) mine->account.mutex.lock();
}

template <class Variant>
void unlock() {
  if (pool<Variant>* const mine = own_pool<Variant>()) mine->account.mutex.unlock();
  pools<Variant>().mutex.unlock();
}

/// What another thread was about to put into the inbox never arrives.
template <class Variant>
void begin_child() {
  pool<Variant>* const mine = own_pool<Variant>();
  pools<Variant>().forget_others(mine);
  unlock<Variant>();
  if (!mine) return;
  mine->drain();
  mine->inbox_bytes.store(0, std::memory_order_relaxed);
}

void before_fork() {
  for_each_variant([]<class V>(V) { lock<V>(); });
}

void after_fork_in_parent() {
  for_each_variant([]<class V>(V) { unlock<V>(); });
}

void after_fork_in_child() {
  for_each_variant([]<class V>(V) { begin_child<V>(); });
}

// LeakSanitizer reads no pointer in poisoned memory, and so would report every held block behind the first of its
// list: it looks after this.
void end_of_process() {
  for_each_variant([]<class V>(V) {
    pools<V>().set_hold(false);
    end_of_thread<V>();
  });
}

// From the library's load on: a fork() never finds one thread in the middle of this.
[[maybe_unused]] const int handles_forks =
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);

void end_of_calling_thread(void*) {
  for_each_variant([]<class V>(V) { end_of_thread<V>(); });
}

}  // namespace

#define CORESCALE_POOLS_OF_A_THREAD(variant)                               \
  constinit thread_local pool<variant>* current_##variant = &no_##variant; \
  template <>                                                              \
  pool<variant>* unattached() noexcept {                                   \
    return &no_##variant;                                                  \
  }                                                                        \
  template <>                                                              \
  pool<variant>*& own_pool<variant>() noexcept {                           \
    return own_##variant;                                                  \
  }
CORESCALE_FOR_EACH_ALLOC_VARIANT(CORESCALE_POOLS_OF_A_THREAD)
#undef CORESCALE_POOLS_OF_A_THREAD

constinit thread_end pools_end(end_of_calling_thread);

void watch_this_thread() {
  static const char noticed = 0;
  constinit static std::atomic_flag watched{};
  pools_end.await(&noticed);
  // Not at the library's load: LeakSanitizer looks at what comes before, and this is to come first.
  if (address_sanitizer_watches() && !watched.test_and_set()) std::atexit(end_of_process);
}

}  // namespace corescale::detail
