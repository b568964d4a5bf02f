// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>

#include "corescale/memory/detail/pool.hpp"

namespace corescale::inline v0::detail {

/// What a thread has before its first request, and what serves nothing: empty, and shared by all.
template <class Variant>
pool<Variant>* unattached() noexcept;

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
    for (pool<Variant>* p = first_; p; p = p->next_pool) function(*p);
  }

  /// Ends the pools that no thread has and for which `empty` holds.
  template <class Predicate>
  void erase_if_dead_and(Predicate empty) {
    for (pool<Variant>** link = &first_; *link;) {
      if ((*link)->live || !empty(**link))
        link = &(*link)->next_pool;
      else
        erase(*link);
    }
  }

  void set_hold(bool hold) noexcept;

  std::mutex mutex;

 private:
  pool<Variant>** place_of(std::size_t number) noexcept;
  pool<Variant>& insert(pool<Variant>*& link, std::size_t number);
  pool<Variant>& enliven(pool<Variant>& found) noexcept;
  static void erase(pool<Variant>*& link) noexcept;

  pool<Variant>* first_ = nullptr;
  bool hold_ = Variant::holds;
};

/// One of each per process.
template <class Variant>
registry<Variant>& pools() noexcept;

/// Sees to it that the calling thread's end is noticed, and forks are.
void watch_this_thread();

}  // namespace corescale::detail
