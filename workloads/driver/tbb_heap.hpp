// SPDX-License-Identifier: Apache-2.0
#pragma once

#ifdef CORESCALE_HAS_TBBMALLOC
#include <tbb/cache_aligned_allocator.h>
#include <tbb/scalable_allocator.h>

#include <cstddef>

#include "driver/heap.hpp"

namespace driver {

/// A heap by oneTBB's allocator templates, for Allocator and for objects. It keeps no account. Throws std::bad_alloc.
template <template <class> class Template>
struct TbbHeap : PlainHeap {
  static void* allocate(std::size_t bytes) { return Template<std::byte>().allocate(bytes); }
  static void deallocate(void* block, std::size_t bytes) noexcept {
    Template<std::byte>().deallocate(static_cast<std::byte*>(block), bytes);
  }
};

using ScalableHeap = TbbHeap<tbb::scalable_allocator>;
using CacheAlignedHeap = TbbHeap<tbb::cache_aligned_allocator>;  ///< no two blocks share a cache line

}  // namespace driver
#endif
