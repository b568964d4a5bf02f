// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <mutex>

#include "corescale/memory/detail/pool.hpp"
#include "corescale/memory/misuse.hpp"
#include "live_numbers.hpp"

namespace corescale::inline v0::detail {

/// The calling thread's; null before its first request.
extern constinit thread_local pool* own_pool __attribute__((tls_model("initial-exec")));

inline std::size_t number_of_this_thread() noexcept {
  return own_pool ? own_pool->number : misuse_report::no_thread;
}

inline pool* owner_of(const block* b) noexcept { return reinterpret_cast<pool*>(b->stamp & ~state_bits); }

/// The pools of all threads of the process, by number. A thread's end leaves its pool to the next thread that
/// gets the number. Made of malloc()ed pools and no container, so that it works below operator new.
class registry {
 public:
  /// A pool that no living thread has, of the least number; made if need be.
  pool& attach();

  /// That of the number; null while a living thread has it.
  pool* attach(std::size_t number);

  void detach(pool& left);

  /// For all of these: while `mutex` is held. Null where no thread had the number.
  pool* find(std::size_t number) noexcept;
  template <class Function>
  void for_each(Function function) {
    for (std::size_t k = 0; k < num_buckets_; ++k)
      for (pool* p = buckets_[k]; p; p = p->next_pool) function(*p);
  }

  /// Takes those out for which `condition` holds, and hands each to `function`.
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

  /// In the child of a fork(): the threads of all pools but `mine` are not here.
  void forget_others(pool* mine) noexcept;

  std::mutex mutex;

 private:
  pool*& bucket_of(std::size_t number) noexcept { return buckets_[number & (num_buckets_ - 1)]; }
  pool& enliven(std::size_t number);
  pool& insert(std::size_t number);
  void widen() noexcept;
  void add_rooms();

  /// Where a pool may be made.
  struct room {
    room* next;
  };

  std::array<pool*, 64> first_buckets_{};
  pool** buckets_ = first_buckets_.data();
  std::size_t num_buckets_ = first_buckets_.size();  ///< a power of two
  std::size_t size_ = 0;
  live_numbers live_;
  room* rooms_ = nullptr;
  pool* lost_ = nullptr;  ///< of the parent's threads: others' blocks may still name them
  bool hold_ = true;
};

/// One for the process.
/// Never destroyed: objects with static lifetime may return memory after any destructor of ours.
extern constinit registry pools;

}  // namespace corescale::detail
