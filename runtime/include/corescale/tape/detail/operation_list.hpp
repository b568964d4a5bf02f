// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

#include "corescale/memory/thread_alloc.hpp"
#include "corescale/tape/detail/recorder.hpp"

namespace corescale::inline v0::detail {

/// The operations of a recording, in chunks of memory that double up to a limit: nothing is copied as a
/// recording grows, at most one chunk is partly unused, and all go back to Alloc, which keeps them for the
/// thread's next recording.
template <class Base, class Alloc>
class operation_list {
 public:
  using element = operation<Base>;

  struct chunk {
    chunk* before;
    chunk* behind;
    std::uint32_t first;     ///< number of its first operation
    std::uint32_t capacity;  ///< in operations
    std::uint32_t size;      ///< how many of them are recorded; 0 while it is the one that is being filled
    element* operations() noexcept { return reinterpret_cast<element*>(this + 1); }
  };

  static constexpr std::size_t first_bytes = std::size_t{8} << 10;
  static constexpr std::size_t largest_bytes = std::size_t{2} << 20;

  operation_list() noexcept = default;
  operation_list(operation_list&& other) noexcept { swap(other); }
  operation_list& operator=(operation_list other) noexcept {
    swap(other);
    return *this;
  }
  ~operation_list() {
    while (last_) Alloc::return_memory(std::exchange(last_, last_->before));
  }
  void swap(operation_list& other) noexcept {
    std::swap(first_, other.first_);
    std::swap(used_, other.used_);
    std::swap(last_, other.last_);
  }

  /// Room for more operations, the first of which has that number: the chunk behind the one in use. Throws
  /// std::bad_alloc; the list then is as it was.
  chunk& add(std::uint32_t number) {
    if (!(used_ ? used_->behind : first_)) append();
    chunk& next = used_ ? *used_->behind : *first_;
    next.first = number;
    next.size = 0;
    used_ = &next;
    return next;
  }

  /// Nothing recorded; the memory stays.
  void clear() noexcept { used_ = nullptr; }

  /// The first chunk, and the last one that is in use; null where nothing was recorded.
  chunk* first() const noexcept { return used_ ? first_ : nullptr; }
  chunk* last() const noexcept { return used_; }

  std::size_t bytes() const noexcept {
    std::size_t sum = 0;
    for (const chunk* one = last_; one; one = one->before) sum += bytes_of(*one);
    return sum;
  }

 private:
  static std::size_t bytes_of(const chunk& one) { return sizeof(chunk) + one.capacity * sizeof(element); }

  void append() {
    const std::size_t wanted = last_ ? std::min(2 * bytes_of(*last_), largest_bytes) : first_bytes;
    std::size_t given = 0;
    void* const memory = Alloc::get_memory(wanted, given);
    const std::size_t fit = (given - sizeof(chunk)) / sizeof(element);
    chunk* const added = ::new (memory) chunk{last_, nullptr, 0, static_cast<std::uint32_t>(fit), 0};
    (last_ ? last_->behind : first_) = added;
    last_ = added;
  }

  chunk* first_ = nullptr;
  chunk* used_ = nullptr;
  chunk* last_ = nullptr;
};

}  // namespace corescale::detail
