// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>
#include <new>

#include "corescale/memory/alloc_variant.hpp"

namespace corescale::inline v0::detail {
namespace {

// The vectors of version 2012_0. Room for all threads that may come, as a vector that threads use cannot
// move; the system gives memory to the pages that are touched. From calloc() and not from mmap(), as a leak
// checker looks for pointers in the former only. Each starts at another offset in its page, or a core takes a
// thread's entries in all three for one another (4 KiB aliasing), which is not what this variant is to show.
template <class T>
T* make_vector(std::size_t size, std::size_t offset) {
  constexpr std::size_t page = 4096;
  void* const room = std::calloc(1, page + offset + size * sizeof(T));
  if (!room) throw std::bad_alloc();
  char* const start = static_cast<char*>(room);
  const std::size_t lead = -reinterpret_cast<std::uintptr_t>(start) % page;
  return reinterpret_cast<T*>(start + lead + offset);  // zeros, which are null roots and counts of nothing
}

}  // namespace

contiguous_slice slice_of_thread(std::size_t thread) {
  if (thread >= contiguous_threads) throw std::bad_alloc();
  static block** const roots = make_vector<block*>(contiguous_threads * num_lists, 0);
  static byte_count* const inuse = make_vector<byte_count>(contiguous_threads, 1024);
  static byte_count* const available = make_vector<byte_count>(contiguous_threads, 2048);
  return {roots + thread * num_lists, inuse + thread, available + thread};
}

}  // namespace corescale::detail
