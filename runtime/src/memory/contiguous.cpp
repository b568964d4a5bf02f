// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>

#include <new>

#include "corescale/memory/alloc_variant.hpp"

namespace corescale::inline v0::detail {
namespace {

// The vectors of version 2012_0. Address space for all threads that may come, as a vector that threads use
// cannot move; the system gives memory to the pages that are touched. Each starts at another offset in its
// page, or a core takes a thread's entries in all three for one another (4 KiB aliasing), which is not what
// this variant is to show.
template <class T>
T* make_vector(std::size_t size, std::size_t offset) {
  void* const room = mmap(nullptr, offset + size * sizeof(T), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) throw std::bad_alloc();
  return reinterpret_cast<T*>(static_cast<char*>(room) +
                              offset);  // zeros, which are null roots and counts of nothing
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
