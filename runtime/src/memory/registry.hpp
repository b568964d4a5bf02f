// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>

#include "corescale/memory/detail/pool.hpp"
#include "corescale/memory/misuse.hpp"
#include "corescale/memory/thread_alloc.hpp"

#pragma GCC visibility push(hidden)
namespace corescale::inline v0::detail {

/// The calling thread's pool; null before its first request.
extern constinit thread_local pool* own_pool __attribute__((tls_model("initial-exec")));

inline std::size_t number_of_this_thread() noexcept {
  return own_pool ? own_pool->number : misuse_report::no_thread;
}

inline pool* owner_of(const block* b) noexcept { return reinterpret_cast<pool*>(b->stamp & ~state_bits); }

/// The numbers that threads have, one bit each, so that 64 are searched at a time for the least free one. The memory comes from malloc()
/// and is never freed.
class live_numbers {
 public:
  /// Only numbers below this are kept; Linux has fewer process ids. A program may choose greater numbers.
  static constexpr std::size_t end = std::size_t{1} << 22;

  std::size_t least_free() noexcept {
    while (first_ < words_ && bits_[first_] == ~std::uint64_t{0}) ++first_;
    return first_ < words_ ? 64 * first_ + static_cast<std::size_t>(std::countr_one(bits_[first_]))
                           : 64 * words_;
  }

  /// Throws std::bad_alloc, and then changes nothing.
  void insert(std::size_t number) {
    if (number >= end) return;
    if (number / 64 >= words_) grow(number / 64 + 1);
    bits_[number / 64] |= bit(number);
  }

  void erase(std::size_t number) noexcept {
    if (number >= end) return;
    bits_[number / 64] &= ~bit(number);
    first_ = std::min(first_, number / 64);
  }

 private:
  static std::uint64_t bit(std::size_t number) noexcept { return std::uint64_t{1} << number % 64; }

  void grow(std::size_t least) {
    const std::size_t words = std::max(least, 2 * words_);
    void* const room = std::calloc(words, sizeof(std::uint64_t));
    if (!room) throw std::bad_alloc();
    if (bits_) std::memcpy(room, bits_, words_ * sizeof(std::uint64_t));
    std::free(bits_);
    bits_ = static_cast<std::uint64_t*>(room);
    words_ = words;
  }

  std::uint64_t* bits_ = nullptr;
  std::size_t words_ = 0;
  std::size_t first_ = 0;  ///< no word before it has a free number
};

/// The pools of all threads of the process, by number. The next thread that gets the number of an ended thread gets its pool. The memory
/// comes from malloc() and not from containers, so that it works below operator new.
class registry {
 public:
  /// The pool of the least number that no living thread has; made if need be.
  pool& attach();

  /// The pool of that number; null while a living thread has it.
  pool* attach(std::size_t number);

  void detach(pool& left);

  /// All of these are called while `mutex` is held. Null if no thread had the number.
  pool* find(std::size_t number) noexcept;
  template <class Function>
  void for_each(Function function) {
    for (std::size_t k = 0; k < num_buckets_; ++k)
      for (pool* p = buckets_[k]; p; p = p->next_pool) function(*p);
  }

  /// Takes out the pools for which `condition` holds, and hands each to `function`.
  template <class Predicate, class Function>
  void extract_if(Predicate condition, Function function) {
    for (std::size_t k = 0; k < num_buckets_; ++k) {
      for (pool** link = &buckets_[k]; *link;) {
        pool& p = **link;
        if (!condition(p)) {
          link = &p.next_pool;
          continue;
        }
        *link = p.next_pool;
        --size_;
        function(p);
      }
    }
  }

  void destroy(pool& dead) noexcept;

  void set_hold(bool hold) noexcept;

  /// Called in the child of a fork(), which has no thread of the pools other than `mine`.
  void forget_others(pool* mine) noexcept;

  std::mutex mutex;

 private:
  pool*& bucket_of(std::size_t number) noexcept { return buckets_[number & (num_buckets_ - 1)]; }
  pool& enliven(std::size_t number);
  pool& insert(std::size_t number);
  void widen() noexcept;
  void add_rooms();

  /// Memory in which a pool may be made.
  struct room {
    room* next;
  };

  std::array<pool*, 64> first_buckets_{};
  pool** buckets_ = first_buckets_.data();
  std::size_t num_buckets_ = first_buckets_.size();  ///< a power of two
  std::size_t size_ = 0;
  live_numbers live_;
  room* rooms_ = nullptr;
  pool* lost_ = nullptr;  ///< pools of the parent's threads: others' blocks may still name them
  bool hold_ = true;
};

thread_rules current_thread_rules() noexcept;

/// One for the process. It is never destroyed, because objects with static lifetime may return memory after any destructor of ours.
extern constinit registry pools;

}  // namespace corescale::detail

#pragma GCC visibility pop
