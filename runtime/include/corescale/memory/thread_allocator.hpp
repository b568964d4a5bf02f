// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <new>
#include <type_traits>
#include <version>

#include "corescale/memory/thread_alloc.hpp"

namespace corescale::inline v0 {

/// The result of allocate_at_least(): room for count elements. The standard library's own type, if it has one, because its containers ask
/// for it.
#ifdef __cpp_lib_allocate_at_least
template <class T>
using allocation = std::allocation_result<T*>;
#else
template <class T>
struct allocation {
  T* ptr;
  std::size_t count;
};
#endif

/// A standard allocator over thread_alloc: stateless, all equal, for any alignment.
/// Containers may be freed by any thread.
template <class T, class Alloc = thread_alloc>
class thread_allocator {
 public:
  using value_type = T;
  using is_always_equal = std::true_type;
  using propagate_on_container_move_assignment = std::true_type;
  template <class U>
  struct rebind {
    using other = thread_allocator<U, Alloc>;
  };

  constexpr thread_allocator() noexcept = default;
  template <class U>
  // NOLINTNEXTLINE(google-explicit-constructor): as the standard asks
  constexpr thread_allocator(const thread_allocator<U, Alloc>&) noexcept {}

  [[nodiscard]] T* allocate(std::size_t n) { return allocate_at_least(n).ptr; }

  /// As in C++23: room for n elements, or for more if that costs nothing. Throws std::bad_array_new_length if the bytes of n elements
  /// exceed a std::size_t, std::bad_alloc if there is no memory.
  [[nodiscard]] allocation<T> allocate_at_least(std::size_t n) {
    if (n > std::numeric_limits<std::size_t>::max() / sizeof(T)) throw std::bad_array_new_length();
    std::size_t capacity = 0;
    void* const memory = Alloc::get_memory(n * sizeof(T), capacity, alignof(T));
    return {static_cast<T*>(memory), capacity / sizeof(T)};
  }

  void deallocate(T* memory, std::size_t) noexcept { Alloc::return_memory(memory); }

  template <class U>
  friend constexpr bool operator==(const thread_allocator&, const thread_allocator<U, Alloc>&) noexcept {
    return true;
  }
};

}  // namespace corescale
