// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <mutex>

#include "corescale/memory/detail/pool.hpp"
#include "corescale/memory/misuse.hpp"
#include "live_numbers.hpp"

namespace corescale::inline v0::detail {

/// What a thread has before its first request, and what serves nothing: empty, and shared by all.
template <class Variant>
pool<Variant>* unattached() noexcept;

/// The calling thread's; null before its first request.
template <class Variant>
pool<Variant>*& own_pool() noexcept;

template <class Variant>
std::size_t number_of_this_thread() noexcept {
  const pool<Variant>* const mine = own_pool<Variant>();
  return mine ? mine->number : misuse_report::no_thread;
}

template <class Variant>
pool<Variant>* owner_of(const block* b) noexcept {
  return reinterpret_cast<pool<Variant>*>(b->stamp & ~state_bits);
}

/// The pools of all threads of the process, by number. A thread's end leaves its pool to the next thread that
/// gets the number. Made of malloc()ed pools and no container, so that it works below operator new.
template <class Variant>
class registry {
 public:
  /// A pool that no living thread has, of the least number; made if need be.
  pool<Variant>& attach();

  /// That of the number; null while a living thread has it.
  pool<Variant>* attach(std::size_t number);

  void detach(pool<Variant>& left);

  /// For all of these: while `mutex` is held. Null where no thread had the number.
  pool<Variant>* find(std::size_t number) noexcept;
  template <class Function>
  void for_each(Function function) {
    for (std::size_t k = 0; k < num_buckets_; ++k)
      for (pool<Variant>* p = buckets_[k]; p; p = p->next_pool) function(*p);
  }

  /// Takes those out for which `condition` holds, and hands each to `function`.
  template <class Predicate, class Function>
  void extract_if(Predicate condition, Function function) {
    for (std::size_t k = 0; k < num_buckets_; ++k) {
      for (pool<Variant>** link = &buckets_[k]; *link;) {
        pool<Variant>& p = **link;
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

  void destroy(pool<Variant>& dead) noexcept;

  void set_hold(bool hold) noexcept;

  /// In the child of a fork(): the threads of all pools but `mine` are not here.
  void forget_others(pool<Variant>* mine) noexcept;

  std::mutex mutex;

 private:
  pool<Variant>*& bucket_of(std::size_t number) noexcept { return buckets_[number & (num_buckets_ - 1)]; }
  pool<Variant>& enliven(std::size_t number);
  pool<Variant>& insert(std::size_t number);
  void widen() noexcept;
  void add_rooms();

  /// Where a pool may be made.
  struct room {
    room* next;
  };

  std::array<pool<Variant>*, 64> first_buckets_{};
  pool<Variant>** buckets_ = first_buckets_.data();
  std::size_t num_buckets_ = first_buckets_.size();  ///< a power of two
  std::size_t size_ = 0;
  live_numbers live_;
  room* rooms_ = nullptr;
  pool<Variant>* lost_ = nullptr;  ///< of the parent's threads: others' blocks may still name them
  bool hold_ = Variant::holds;
};

/// One of each per process.
template <class Variant>
registry<Variant>& pools() noexcept;

}  // namespace corescale::detail
