// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>

#include "corescale/memory/capacity.hpp"
#include "corescale/memory/detail/block.hpp"
#include "corescale/memory/detail/pool.hpp"
#include "corescale/memory/misuse.hpp"

namespace corescale::inline v0 {

/// How types with checks recognise misuse::wrong_thread.
struct thread_rules {
  /// True while other threads may run; null if it is unknown. corescale::in_parallel fits.
  bool (*in_parallel)() noexcept = nullptr;
  /// Whether, in parallel mode, a thread may return memory that another thread got.
  /// The default is true, because batches make it cheap. The study's rule is false, which fits programs whose threads are meant to keep
  /// their memory to themselves.
  bool returns_cross_threads = true;
};

/// The rules of the process. Sequential mode only.
void set_thread_rules(thread_rules rules) noexcept;

/// Memory for the threads of a program: what a thread returns is kept for its next request, so that threads
/// do not meet in the system allocator (Bell and Hepperger 2012, section VI).
///
/// A request takes the calling thread's newest available block of the least capacity that is enough. If there is none, it takes from what
/// other threads have returned of this thread's memory, and else from malloc().
/// Before malloc(), a thread that holds 64 MB or more gives back what it keeps, if that is more than a third of what it uses.
/// Blocks of 32 MiB or more are not kept.
/// Besides the study's capacities there are 24, 56 and 88 bytes. Their blocks are cut from slabs of 4 to 64 KiB.
///
/// Checked: whether each return is checked for misuse, in O(1).
/// It is part of the type, so that it is the same in all translation units.
/// Code with checks and code without them may share memory; only code with checks finds misuse.
///
/// Threads: each OS thread has a number. It is the least that no living thread has when the thread first asks for memory, or the number
/// that it chose by bind_thread(). Numbers have no limit. Any thread may return any memory.
/// Another thread's memory goes home, to that thread, in batches of up to 32 blocks or 64 KiB, by one atomic operation each. The rest goes
/// home when the returning thread ends. The batches take 18 KB in each thread that returns such memory. A thread that ends gives its
/// available memory back to the system. Its blocks in use stay valid and are accounted to its number, which a later thread may get.
///
/// Concurrency: get_memory, return_memory, create_array, delete_array, thread and bind_thread may be called by any thread at any time.
/// Functions that take a thread number may be called by that thread at any time, and by others in sequential mode. hold_memory and free_all
/// may be called in sequential mode.
///
/// Complexity: get and return are O(1).
/// Functions with a thread number are linear in the number of threads and, if they free, in blocks.
///
/// fork(): the child has the calling thread's memory.
/// The child loses what other threads held in the parent; their numbers are free.
template <bool Checked = false>
class basic_thread_alloc {
 public:
  /// At least min_bytes bytes. Sets capacity to the usable bytes. The alignment is 32 bytes if capacity is 128 or more, else 16. Throws
  /// std::bad_alloc.
  [[nodiscard]] static void* get_memory(std::size_t min_bytes, std::size_t& capacity) {
    const std::size_t size_class = detail::size_class(min_bytes);
    detail::block* const taken = take(size_class);
    capacity = detail::class_capacity(size_class);
    return taken->memory();
  }

  /// The same, with an alignment that is any power of two. An alignment above 32 bytes takes up to `alignment` bytes more.
  [[nodiscard]] static void* get_memory(std::size_t min_bytes, std::size_t& capacity, std::size_t alignment);

  /// Takes back what get_memory() gave, once. Anything else is misuse. A second return of a block that is still kept is always found; types
  /// with checks find the rest. Misuse that is found calls the handler of misuse; other misuse is undefined behaviour. If the handler
  /// throws, as the default one does, the program ends through std::terminate, which prints what the exception says.
  static void return_memory(void* memory) noexcept {
    if constexpr (Checked) {
      pool::give_checked(memory);
    } else {
      pool::give(detail::block_of(memory));
    }
  }

  /// An array of at least min_size elements, default-initialised; size is set to how many there are.
  /// Throws std::bad_array_new_length if the bytes of min_size elements exceed a std::size_t.
  template <class T>
  [[nodiscard]] static T* create_array(std::size_t min_size, std::size_t& size);

  /// Destroys all elements of what create_array() gave and returns its memory; null is allowed. Misuse as in
  /// return_memory().
  template <class T>
  static void delete_array(T* array) noexcept;

  /// The bytes usable at `memory`, which get_memory() gave.
  static std::size_t capacity_of(const void* memory) noexcept;

  /// Whether returned memory is kept for the same thread (true from the start) or goes back to the system at once.
  static void hold_memory(bool hold) noexcept { threads::hold_memory(hold); }

  /// Bytes that the thread has got and nobody has returned, as a sum of capacities; 0 for a number that no thread had.
  static std::size_t inuse(std::size_t thread) { return threads::inuse(thread, Checked); }

  /// Bytes that are kept for the thread's next requests, as a sum of capacities. Those on their way home are included.
  static std::size_t available(std::size_t thread) { return threads::available(thread, Checked); }

  /// Returns the thread's available memory to the system.
  /// If the thread itself calls this, blocks that are on their way home in another thread's batch are left out.
  /// If another thread calls it, everything goes.
  /// If a slab has a block in use, its other blocks stay; they serve later requests and count neither as in use nor as available.
  static void free_available(std::size_t thread) { threads::free_available(thread, Checked); }

  /// free_available() for every thread. True if no thread has memory in use.
  static bool free_all() { return threads::free_all(Checked); }

  /// The calling thread's number.
  static std::size_t thread() { return pool::attached().number; }

  /// Makes the calling thread the owner of that number's memory; what it got before stays with its old number. Returns false and changes
  /// nothing while another living thread has the number. Use it to give a team's threads their ids as numbers.
  static bool bind_thread(std::size_t number) { return threads::bind(number); }

  /// All memory in use that checked code got under that number, in no particular order: for finding leaks.
  static std::vector<const void*> checked_in_use(std::size_t thread) {
    return threads::checked_in_use(thread);
  }

 private:
  using pool = detail::pool;
  using threads = detail::threads;

  static detail::block* take(std::size_t size_class) {
    if constexpr (Checked) {
      return pool::take_checked(size_class);
    } else {
      return pool::take(size_class);
    }
  }
};

/// The allocator.
using thread_alloc = basic_thread_alloc<>;

/// The same with checks: for tests, and to find a mistake.
using checked_thread_alloc = basic_thread_alloc<true>;

template <bool Checked>
void* basic_thread_alloc<Checked>::get_memory(std::size_t min_bytes, std::size_t& capacity,
                                              std::size_t alignment) {
  using namespace detail;
  if (alignment <= small_alignment) return get_memory(min_bytes, capacity);
  if (alignment <= block_alignment)
    return get_memory(std::max(min_bytes, small_capacities.back() + 1), capacity);
  const std::size_t extra = alignment - block_alignment;
  if (min_bytes > largest_size - extra) throw std::bad_alloc();
  return shift(*take(num_small + capacity_index(min_bytes + extra)), alignment, capacity);
}

template <bool Checked>
std::size_t basic_thread_alloc<Checked>::capacity_of(const void* memory) noexcept {
  const auto* const stands_before = static_cast<const detail::block*>(memory) - 1;
  if (stands_before->state() != detail::shifted) return stands_before->capacity();
  detail::block* const true_block = detail::unshifted(stands_before);
  return static_cast<std::size_t>(detail::guard_of(true_block) - static_cast<const char*>(memory));
}

template <bool Checked>
template <class T>
T* basic_thread_alloc<Checked>::create_array(std::size_t min_size, std::size_t& size) {
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

template <bool Checked>
template <class T>
void basic_thread_alloc<Checked>::delete_array(T* array) noexcept {
  if (!array) return;
  if constexpr (!std::is_trivially_destructible_v<T>) {
    if constexpr (Checked)
      if (!pool::verify(array)) return;
    std::destroy_n(array, capacity_of(array) / sizeof(T));
  }
  return_memory(array);
}

}  // namespace corescale
