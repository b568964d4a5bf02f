// SPDX-License-Identifier: Apache-2.0
#include "registry.hpp"

#include <pthread.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <new>
#include <system_error>

namespace corescale::inline v0::detail {
namespace {

using alloc_variant::contiguous;
using alloc_variant::per_thread;
using alloc_variant::system;

// What a thread that has no memory yet points at. Written by nobody: its lists are empty, so nothing is taken
// from them, and no stamp is 0, so nothing is put there.
constinit pool<per_thread> no_per_thread(0, 0);
constinit pool<system> no_system(0, 0);
constinit std::array<block*, num_lists> no_roots{};
constinit byte_count no_bytes;
constinit pool<contiguous> no_contiguous(0, 0, contiguous_slice{no_roots.data(), &no_bytes, &no_bytes});

// Never destroyed: objects with static lifetime may return memory after any destructor of ours.
template <class Variant>
constinit registry<Variant> the_registry{};

template <class Function>
void for_each_variant(Function function) {
  function(per_thread{});
  function(contiguous{});
  function(system{});
}

template <class Variant>
void end_of_thread() noexcept {
  pool<Variant>*& mine = current_pool<Variant>();
  if (mine == unattached<Variant>()) return;
  pools<Variant>().detach(*mine);
  mine = unattached<Variant>();
}

// A fork() while another thread holds one of these would leave it locked in the child for ever.
template <class Variant>
void lock_all() {
  pools<Variant>().mutex.lock();
  pools<Variant>().for_each([](pool<Variant>& p) { p.account.mutex.lock(); });
}

template <class Variant>
void unlock_all() {
  pools<Variant>().for_each([](pool<Variant>& p) { p.account.mutex.unlock(); });
  pools<Variant>().mutex.unlock();
}

void before_fork() {
  for_each_variant([]<class V>(V) { lock_all<V>(); });
}

void after_fork() {
  for_each_variant([]<class V>(V) { unlock_all<V>(); });
}

// A key and not a thread_local object: its destructor runs after those of all thread_local objects, which may
// still return memory, and again if memory is asked for even later.
pthread_key_t make_key() {
  pthread_key_t key{};
  const auto ended = [](void*) { for_each_variant([]<class V>(V) { end_of_thread<V>(); }); };
  const int failed = pthread_key_create(&key, ended);
  if (failed) throw std::system_error(failed, std::generic_category(), "corescale::thread_alloc: thread key");
  pthread_atfork(before_fork, after_fork, after_fork);
  return key;
}

template <class Variant>
pool<Variant>* make_pool(std::size_t number) {
  void* const room = std::aligned_alloc(alignof(pool<Variant>), sizeof(pool<Variant>));
  if (!room) throw std::bad_alloc();
  try {
    if constexpr (std::is_constructible_v<typename Variant::accounts, contiguous_slice>) {
      return new (room) pool<Variant>(number, 0, slice_of_thread(number));
    } else {
      return new (room) pool<Variant>(number, 0);
    }
  } catch (...) {
    std::free(room);
    throw;
  }
}

}  // namespace

constinit thread_local pool<per_thread>* current_per_thread = &no_per_thread;
constinit thread_local pool<contiguous>* current_contiguous = &no_contiguous;
constinit thread_local pool<system>* current_system = &no_system;

template <>
pool<per_thread>* unattached() noexcept {
  return &no_per_thread;
}
template <>
pool<contiguous>* unattached() noexcept {
  return &no_contiguous;
}
template <>
pool<system>* unattached() noexcept {
  return &no_system;
}

template <class Variant>
registry<Variant>& pools() noexcept {
  return the_registry<Variant>;
}

void watch_this_thread() {
  static const pthread_key_t key = make_key();
  static const char noticed = 0;
  if (pthread_setspecific(key, &noticed)) throw std::bad_alloc();
}

template <class Variant>
pool<Variant>** registry<Variant>::place_of(std::size_t number) noexcept {
  pool<Variant>** link = &first_;
  while (*link && (*link)->number < number) link = &(*link)->next_pool;
  return link;
}

template <class Variant>
pool<Variant>* registry<Variant>::find(std::size_t number) noexcept {
  pool<Variant>* const found = *place_of(number);
  return found && found->number == number ? found : nullptr;
}

template <class Variant>
pool<Variant>& registry<Variant>::attach() {
  watch_this_thread();
  const std::lock_guard lock(mutex);
  std::size_t number = 0;
  pool<Variant>** link = &first_;
  for (; *link && (*link)->number == number && (*link)->live; ++number) link = &(*link)->next_pool;
  const bool there = *link && (*link)->number == number;
  return enliven(there ? **link : insert(*link, number));
}

template <class Variant>
pool<Variant>* registry<Variant>::attach(std::size_t number) {
  watch_this_thread();
  const std::lock_guard lock(mutex);
  pool<Variant>** const link = place_of(number);
  const bool there = *link && (*link)->number == number;
  if (there && (*link)->live) return nullptr;
  return &enliven(there ? **link : insert(*link, number));
}

template <class Variant>
void registry<Variant>::detach(pool<Variant>& left) {
  left.receives = false;
  left.flush_all();
  left.drain();
  left.release_available();
  const std::lock_guard lock(mutex);
  left.live = false;
}

template <class Variant>
pool<Variant>& registry<Variant>::insert(pool<Variant>*& link, std::size_t number) {
  pool<Variant>* const made = make_pool<Variant>(number);
  made->accepts = hold_ ? made->stamp(in_use) : 0;
  made->next_pool = link;
  link = made;
  return *made;
}

template <class Variant>
pool<Variant>& registry<Variant>::enliven(pool<Variant>& found) noexcept {
  found.live = true;
  found.receives = true;
  return found;
}

template <class Variant>
void registry<Variant>::erase(pool<Variant>*& link) noexcept {
  pool<Variant>* const dead = link;
  link = dead->next_pool;
  if (const std::size_t returned_by_others = dead->inuse())
    dead->ended_in_use(returned_by_others);  // a slice of the shared vectors outlives its pool
  std::destroy_at(dead);
  std::free(dead);
}

template <class Variant>
void registry<Variant>::set_hold(bool hold) noexcept {
  const std::lock_guard lock(mutex);
  hold_ = hold && Variant::holds;
  for_each([this](pool<Variant>& p) { p.accepts = hold_ ? p.stamp(in_use) : 0; });
}

template class registry<per_thread>;
template class registry<contiguous>;
template class registry<system>;
template registry<per_thread>& pools() noexcept;
template registry<contiguous>& pools() noexcept;
template registry<system>& pools() noexcept;

}  // namespace corescale::detail
