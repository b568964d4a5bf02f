// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <type_traits>
#include <vector>

#include "corescale/machine/cache_line.hpp"
#include "corescale/memory/alloc_variant.hpp"
#include "corescale/memory/detail/block.hpp"

// The state behind thread_alloc. take() and give() are the hot path and inline; all else is in the library.
namespace corescale::inline v0::detail {

template <class Variant>
struct pool;

/// Blocks of one owner that another thread returns, until they go home together. The first block carries the
/// addresses of the others in its memory, so that a batch needs none of its own and the blocks stay untouched
/// (their cache lines move once, straight to the owner).
template <class Variant>
struct batch {
  std::atomic<pool<Variant>*> owner{nullptr};
  std::atomic<std::size_t> bytes{0};
  block* carrier = nullptr;
  std::size_t cargo = 0;

  static constexpr std::size_t max_cargo = 128 / sizeof(block*);  // what the smallest capacity holds
  static constexpr std::size_t max_bytes = std::size_t{64} << 10;
};

/// Every block of a thread that is in use, by capacity; kept by checked builds only. Any thread that returns
/// a block takes it out, hence the mutex.
struct in_use_account {
  std::mutex mutex;
  std::array<block*, num_capacities> roots{};

  void insert(block* b);
  void erase(block* b);
};

/// What one thread holds. Its thread alone calls the non-static members, but receive().
template <class Variant>
struct alignas(cache_line) pool : Variant::accounts {
  template <class... Slice>
  constexpr explicit pool(std::size_t thread, std::uintptr_t accepted, Slice... slice)
      : Variant::accounts(slice...), accepts(accepted), number(thread) {}

  /// A block of capacity index i, in use. Throws std::bad_alloc.
  static block* take(std::size_t i);

  /// Back to where it came from.
  static void give(block* b);

  /// As take() and give(), with the checks.
  static block* take_checked(std::size_t i);
  static void give_checked(void* memory);

  /// The block of memory in use. Null after the misuse handler was told that it is something else.
  static block* verify(void* memory);

  std::uintptr_t stamp(block_state state) const noexcept {
    return reinterpret_cast<std::uintptr_t>(this) | state;
  }

  void put(block* b) noexcept;
  void drain() noexcept;
  void send(block* b, pool* owner) noexcept;
  void flush(batch<Variant>& out) noexcept;
  void flush_all() noexcept;
  void receive(block* carrier, std::size_t bytes) noexcept;
  void release_available() noexcept;
  void put_or_release(block* b) noexcept;

  static pool& attached();
  static block* take_slowly(std::size_t i);
  static void give_slowly(block* b);
  static void give_home(block* b, pool* owner);

  /// The stamp of the blocks that give() may put straight into a list: this pool's, in use; or, while memory
  /// is not held, one that no block has.
  std::atomic<std::uintptr_t> accepts;
  std::size_t number;
  bool live = false;                  ///< whether a thread has this pool; the registry's mutex guards it
  std::atomic<bool> receives{false};  ///< what comes home while not goes to the system instead
  pool* next_pool = nullptr;          ///< the registry's list, by number
  std::array<batch<Variant>, 8> outgoing;
  in_use_account account;

  alignas(cache_line) std::atomic<block*> inbox{nullptr};  ///< batches that came home, newest first
  std::atomic<std::size_t> inbox_bytes{0};
  std::atomic<std::size_t> gone_bytes{0};  ///< returned to the system by other threads
};

/// What thread_alloc does about whole threads; `checked` tells whether its rules are to be enforced.
template <class Variant>
struct threads {
  static void hold_memory(bool hold) noexcept;
  static bool bind(std::size_t number);
  static std::size_t inuse(std::size_t thread, bool checked);
  static std::size_t available(std::size_t thread, bool checked);
  static void free_available(std::size_t thread, bool checked);
  static bool free_all(bool checked);
  static std::vector<const void*> checked_in_use(std::size_t thread);
};

extern template struct threads<alloc_variant::per_thread>;
extern template struct threads<alloc_variant::contiguous>;
extern template struct threads<alloc_variant::system>;

/// The pool of the calling thread; never null, as a thread starts with a shared empty one that accepts
/// nothing. Initial-exec: 24 bytes of static thread storage in all, which glibc's reserve grants to a library
/// that is loaded late as well, spare each call of each allocation a call of __tls_get_addr.
#define CORESCALE_CURRENT_POOL(variant)                                         \
  extern constinit thread_local pool<alloc_variant::variant>* current_##variant \
      __attribute__((tls_model("initial-exec")))
CORESCALE_CURRENT_POOL(per_thread);
CORESCALE_CURRENT_POOL(contiguous);
CORESCALE_CURRENT_POOL(system);
#undef CORESCALE_CURRENT_POOL

template <class Variant>
pool<Variant>*& current_pool() noexcept {
  if constexpr (std::is_same_v<Variant, alloc_variant::per_thread>) {
    return current_per_thread;
  } else if constexpr (std::is_same_v<Variant, alloc_variant::contiguous>) {
    return current_contiguous;
  } else {
    return current_system;
  }
}

template <class Variant>
inline block* pool<Variant>::take(std::size_t i) {
  if constexpr (Variant::holds) {
    pool& mine = *current_pool<Variant>();
    if (block* front = mine.root(i)) [[likely]] {
      mine.root(i) = front->next;
      front->stamp = mine.stamp(in_use);
      mine.reused(capacity_at(i));
      permit(front->memory(), capacity_at(i));
      return front;
    }
  }
  return take_slowly(i);
}

template <class Variant>
inline void pool<Variant>::put(block* b) noexcept {
  if constexpr (Variant::holds) {
    const std::size_t i = b->capacity_index;
    forbid(b->memory(), capacity_at(i));
    b->stamp = stamp(available);
    block* const below = this->root(i);
    b->next = below;
    b->back = below ? below->back + 1 : 1;
    this->root(i) = b;
    this->kept(capacity_at(i));
  }
}

template <class Variant>
inline void pool<Variant>::give(block* b) {
  if constexpr (Variant::holds) {
    pool& mine = *current_pool<Variant>();
    if (b->stamp == mine.accepts.load(std::memory_order_relaxed)) [[likely]] {
      mine.put(b);
      return;
    }
  }
  give_slowly(b);
}

// Behind the inline definitions: an earlier one would make of each a call into the library.
extern template struct pool<alloc_variant::per_thread>;
extern template struct pool<alloc_variant::contiguous>;
extern template struct pool<alloc_variant::system>;

}  // namespace corescale::detail
