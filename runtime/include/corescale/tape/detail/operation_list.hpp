// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "corescale/memory/thread_alloc.hpp"
#include "corescale/tape/detail/recorder.hpp"
#include "corescale/tape/operations.hpp"

namespace corescale::inline v0::detail {

/// The operations of a recording, in chunks of memory that double up to a limit: nothing is copied as a
/// recording grows, at most one chunk is partly unused, and all go back to Alloc, which keeps them for the
/// thread's next recording.
template <class Base, class Alloc>
class operation_list {
 public:
  /// Operations from its begin on, and the numbers that are kept of them from its end down. Before its first operation lies
  /// one of an independent variable, at which a sweep back that looks for the begin at such operations only finds it.
  struct chunk {
    chunk* before;
    chunk* behind;
    std::size_t bytes;
    Base* numbers;        ///< those of the last operation
    std::uint32_t first;  ///< number of its first operation
    std::uint32_t
        size;  ///< how many operations are recorded; as `numbers` of before, while it is the one that is being filled
    operation begin{operations::number_of<operations::independent>(), 0, 0};

    operation* operations() noexcept { return reinterpret_cast<operation*>(this + 1); }
    Base* end() noexcept {
      std::byte* const behind_all = reinterpret_cast<std::byte*>(this) + bytes;
      return reinterpret_cast<Base*>(behind_all -
                                     reinterpret_cast<std::uintptr_t>(behind_all) % alignof(Base));
    }
  };

  /// A chunk has room for an operation, however large Base is.
  static constexpr std::size_t least_bytes =
      sizeof(chunk) + sizeof(operation) + 2 * sizeof(Base) + alignof(Base);
  static constexpr std::size_t first_bytes = std::max(std::size_t{8} << 10, least_bytes);
  static constexpr std::size_t largest_bytes = std::max(std::size_t{2} << 20, least_bytes);

  operation_list() noexcept = default;
  operation_list(const operation_list& other) : operation_list() {
    for (chunk* one = other.first(); one; one = one == other.last() ? nullptr : one->behind)
      append_copy(*one);
  }
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
    next.numbers = next.end();
    used_ = &next;
    return next;
  }

  /// Nothing recorded; the memory stays.
  void clear() noexcept { used_ = nullptr; }

  /// The first chunk, and the last one that is in use; null if nothing was recorded.
  chunk* first() const noexcept { return used_ ? first_ : nullptr; }
  chunk* last() const noexcept { return used_; }

  std::size_t bytes() const noexcept {
    std::size_t sum = 0;
    for (const chunk* one = last_; one; one = one->before) sum += one->bytes;
    return sum;
  }

 private:
  void append() {
    const std::size_t wanted = last_ ? std::min(2 * last_->bytes, largest_bytes) : first_bytes;
    std::size_t given = 0;
    void* const memory = Alloc::get_memory(wanted, given);
    chunk* const added = ::new (memory) chunk{last_, nullptr, given, nullptr, 0, 0};
    link(added);
  }

  void append_copy(chunk& from) {
    std::size_t given = 0;
    void* const memory = Alloc::get_memory(from.bytes, given);
    chunk* const added = ::new (memory) chunk{last_, nullptr, from.bytes, nullptr, from.first, from.size};
    added->numbers = added->end() - (from.end() - from.numbers);
    std::uninitialized_copy_n(from.operations(), from.size, added->operations());
    std::uninitialized_copy(from.numbers, from.end(), added->numbers);
    link(added);
    used_ = added;
  }

  void link(chunk* added) noexcept {
    (last_ ? last_->behind : first_) = added;
    last_ = added;
  }

  chunk* first_ = nullptr;
  chunk* used_ = nullptr;
  chunk* last_ = nullptr;
};

/// One operation as a sweep finds it, with the numbers that are kept of it. Two words, which a call takes in registers.
template <class Base>
struct recorded_operation : operation {
  Base* kept;

  recorded_operation(const operation& one, Base* numbers) noexcept : operation(one), kept(numbers) {}

  /// The value of an operand that is a parameter.
  const Base& x_value() const noexcept { return kept[0]; }
  const Base& y_value() const noexcept { return kept[operations::kept[op()] - 1]; }

  /// What an operand that is a variable hands on.
  Base dx() const {
    if (operations::is_linear(op()))
      return Base(op() == operations::number_of<operations::negate>() ? -1.0 : 1.0);
    return kept[0];
  }
  Base dy() const {
    if (operations::is_linear(op())) return Base(operations::is_difference(op()) ? -1.0 : 1.0);
    return kept[operations::kept[op()] - 1];
  }
};

/// function(operation, its number), from the first to the last.
template <class Base, class Alloc, class Function>
void for_each_operation(const operation_list<Base, Alloc>& operations, Function function) {
  for (auto* chunk = operations.first(); chunk;
       chunk = chunk == operations.last() ? nullptr : chunk->behind) {
    const operation* one = chunk->operations();
    Base* numbers = chunk->end();
    for (std::uint32_t i = chunk->first; i < chunk->first + chunk->size; ++i, ++one) {
      numbers -= operations::kept[one->op()];
      function(recorded_operation<Base>(*one, numbers), i);
    }
  }
}

/// function(chunk, i, numbers), from the last chunk back to the first: operation i is the chunk's last one that is not behind
/// `last`, and these are the numbers that are kept of it.
template <class Base, class Alloc, class Function>
[[gnu::always_inline]] inline void for_each_chunk_back(const operation_list<Base, Alloc>& operations,
                                                       std::uint32_t last, Function function) {
  for (auto* chunk = operations.last(); chunk; chunk = chunk->before) {
    if (chunk->first > last) continue;
    Base* numbers = chunk->numbers;
    std::size_t i = std::size_t{chunk->first} + chunk->size - 1;
    for (; i > last; --i) numbers += operations::kept[chunk->operations()[i - chunk->first].op()];
    function(*chunk, i, numbers);
  }
}

/// function(operation, its number), from operation `last` back to the first; it returns how many numbers are kept of the operation,
/// which it has found anyway.
template <class Base, class Alloc, class Function>
[[gnu::always_inline]] inline void for_each_operation_back(const operation_list<Base, Alloc>& operations,
                                                           std::uint32_t last, Function function) {
  for_each_chunk_back(operations, last, [&](auto& chunk, std::size_t i, Base* numbers) {
    const operation* const first = chunk.operations();
    for (const operation* one = first + (i + 1 - chunk.first); one != first; --i) {
      --one;
      numbers += function(recorded_operation<Base>(*one, numbers), i);
    }
  });
}

}  // namespace corescale::detail
