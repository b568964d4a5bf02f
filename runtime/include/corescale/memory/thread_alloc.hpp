// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>

#include "corescale/memory/alloc_variant.hpp"
#include "corescale/memory/capacity.hpp"
#include "corescale/memory/detail/block.hpp"
#include "corescale/memory/detail/pool.hpp"
#include "corescale/memory/misuse.hpp"

namespace corescale::inline v0 {

/// Whether a translation unit's thread_alloc checks what it is given: as assert() does, unless told otherwise by
/// -DCORESCALE_MEMORY_CHECKS=0 or =1.
/// Code with and without may share memory; only the code with finds misuse.
#ifdef CORESCALE_MEMORY_CHECKS
inline constexpr bool memory_checks = CORESCALE_MEMORY_CHECKS;
#elif defined(NDEBUG)
inline constexpr bool memory_checks = false;
#else
inline constexpr bool memory_checks = true;
#endif

/// What checked builds need to know of a program's threads to find misuse::wrong_thread.
struct thread_rules {
  /// True while other threads may run; null where nobody can tell. corescale::in_parallel fits.
  bool (*in_parallel)() noexcept = nullptr;
  /// Whether a thread may return, in parallel mode, what another one got.
  /// True, as batches make it cheap; the study's rule is false, and fits programs that mean each thread to keep its memory to
  /// itself.
  bool returns_cross_threads = true;
};

/// The rules of the process, for all variants. Sequential mode only.
void set_thread_rules(thread_rules rules) noexcept;

/// Memory for the threads of a program: what a thread returns is kept for its next request, so that threads
/// do not meet in the system allocator (Bell and Hepperger 2012, section VI).
///
/// A request is served from the front of the calling thread's list of available blocks of the least capacity
/// that is enough; else from what other threads have returned of this thread's memory; else by malloc().
///
/// Threads: each OS thread has a number, the least that no living thread has when it first asks for memory, or what it chose by
/// bind_thread(). Numbers have no limit.
/// Any thread may return any memory.
/// Another thread's goes home in batches of up to 17 blocks or 64 KiB, each one atomic operation, the rest when the returning thread ends.
/// A thread that ends gives its available memory back to the system.
/// Its blocks in use stay valid and are accounted to its number, which a later thread may get.
///
/// Concurrency: get_memory, return_memory, create_array, delete_array, thread and bind_thread may be called by any thread at any time;
/// functions that take a thread number by that thread itself at any time, by others in sequential mode;
/// hold_memory and free_all in sequential mode.
///
/// Complexity: get and return are O(1).
/// Those with a thread number are linear in the number of threads, and, where they free, in blocks.
///
/// fork(): the child has the calling thread's memory; what other threads held in the parent is lost to it.
template <class Variant, bool Checked = memory_checks>
class basic_thread_alloc {
 public:
  using variant = Variant;

  /// At least min_bytes bytes at 32-byte alignment; capacity is set to how many there are, all usable.
  /// Throws std::bad_alloc.
  [[nodiscard]] static void* get_memory(std::size_t min_bytes, std::size_t& capacity) {
    detail::block* const taken = take(capacity_index(min_bytes));
    capacity = taken->capacity();
    return taken->memory();
  }

  /// As above, at any power of two alignment. Beyond 32 bytes it takes up to `alignment` bytes more.
  [[nodiscard]] static void* get_memory(std::size_t min_bytes, std::size_t& capacity, std::size_t alignment);

  /// Takes back what get_memory() gave, once. Undefined otherwise, but where checks find it: O(1) each.
  static void return_memory(void* memory) {
    if constexpr (Checked) {
      pool::give_checked(memory);
    } else {
      pool::give(detail::block_of(memory));
    }
  }

  /// An array of at least min_size elements, default-initialised; size is set to how many there are.
  /// Throws std::bad_array_new_length when min_size elements have more bytes than a std::size_t can say.
  template <class T>
  [[nodiscard]] static T* create_array(std::size_t min_size, std::size_t& size);

  /// Destroys all elements of what create_array() gave and returns its memory; null is allowed.
  template <class T>
  static void delete_array(T* array);

  /// The bytes usable at `memory`, which get_memory() gave.
  static std::size_t capacity_of(const void* memory) noexcept;

  /// Whether returned memory is kept for the same thread (true from the start) or goes back to the system at once.
  /// No effect on the system variant, which keeps none.
  static void hold_memory(bool hold) noexcept { threads::hold_memory(hold); }

  /// Bytes, in capacities, that the thread has got and nobody has returned; 0 for a number that no thread had.
  static std::size_t inuse(std::size_t thread) { return threads::inuse(thread, Checked); }

  /// Bytes, in capacities, kept for the thread's next requests, those on their way home included.
  static std::size_t available(std::size_t thread) { return threads::available(thread, Checked); }

  /// Returns the thread's available memory to the system.
  /// By the thread itself, all but what is on its way home in another thread's batch; by another, all.
  static void free_available(std::size_t thread) { threads::free_available(thread, Checked); }

  /// free_available() for every thread. True when no thread has memory in use.
  static bool free_all() { return threads::free_all(Checked); }

  /// The calling thread's number.
  static std::size_t thread() { return pool::attached().number; }

  /// Makes the calling thread the owner of that number's memory; what it got before stays with its old number.
  /// False, and nothing changed, while another living thread has the number.
  /// For whoever runs a team and wants its ids here.
  static bool bind_thread(std::size_t number) { return threads::bind(number); }

  /// All memory in use that checked code got under that number, in no particular order: for finding leaks.
  static std::vector<const void*> checked_in_use(std::size_t thread) {
    return threads::checked_in_use(thread);
  }

 private:
  using pool = detail::pool<Variant>;
  using threads = detail::threads<Variant>;

  static detail::block* take(std::size_t i) {
    if constexpr (Checked) {
      return pool::take_checked(i);
    } else {
      return pool::take(i);
    }
  }
};

/// The allocator: version 2012_1, a structure per thread.
using thread_alloc = basic_thread_alloc<alloc_variant::per_thread>;

template <class Variant, bool Checked>
void* basic_thread_alloc<Variant, Checked>::get_memory(std::size_t min_bytes, std::size_t& capacity,
                                                       std::size_t alignment) {
  if (alignment <= detail::block_alignment) return get_memory(min_bytes, capacity);
  const std::size_t extra = alignment + sizeof(detail::block) - detail::block_alignment;
  if (min_bytes > detail::largest_size - extra) throw std::bad_alloc();
  return detail::shift(*take(capacity_index(min_bytes + extra)), alignment, capacity);
}

template <class Variant, bool Checked>
std::size_t basic_thread_alloc<Variant, Checked>::capacity_of(const void* memory) noexcept {
  const auto* const stands_before = static_cast<const detail::block*>(memory) - 1;
  if (stands_before->state() != detail::shifted) return stands_before->capacity();
  detail::block* const true_block = detail::unshifted(stands_before);
  return static_cast<std::size_t>(detail::guard_of(true_block) - static_cast<const char*>(memory));
}

template <class Variant, bool Checked>
template <class T>
T* basic_thread_alloc<Variant, Checked>::create_array(std::size_t min_size, std::size_t& size) {
  if (min_size > detail::largest_size / sizeof(T)) throw std::bad_array_new_length();
  std::size_t capacity = 0;
  void* const memory = get_memory(min_size * sizeof(T), capacity, alignof(T));
  T* const array = static_cast<T*>(memory);
  try {
    std::uninitialized_default_construct_n(array, capacity / sizeof(T));
  } catch (...) {
    return_memory(memory);
    throw;
  }
  size = capacity / sizeof(T);
  return array;
}

template <class Variant, bool Checked>
template <class T>
void basic_thread_alloc<Variant, Checked>::delete_array(T* array) {
  if (!array) return;
  if constexpr (!std::is_trivially_destructible_v<T>) {
    if constexpr (Checked) pool::verify(array);
    std::destroy_n(array, capacity_of(array) / sizeof(T));
  }
  return_memory(array);
}

}  // namespace corescale
