// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "corescale/memory/capacity_vector.hpp"
#include "corescale/tape/detail/recorder.hpp"

namespace corescale::inline v0::detail {

/// The statements of a recording, in chunks of memory whose size doubles up to a limit. Nothing is copied as a recording grows, and at
/// most one chunk is partly unused. All chunks are returned to Alloc, which keeps them for the thread's next recording.
template <class Base, class Alloc>
class statement_list {
 public:
  /// A chunk of memory. Runs fill it from its beginning upwards, and blocks from its end downwards.
  struct chunk {
    chunk* before;
    chunk* behind;
    std::size_t bytes;
    run<Base>* last =
        nullptr;  ///< the last run. While this chunk is being filled, this and the fields below are out of date
    std::byte* block = nullptr;     ///< the block of the last statement
    std::uint32_t behind_last = 0;  ///< number of the statement after the last one

    /// The place before the first run.
    run<Base>* none() noexcept { return reinterpret_cast<run<Base>*>(this + 1); }

    std::byte* end() noexcept {
      std::byte* const behind_all = reinterpret_cast<std::byte*>(this) + bytes;
      return behind_all - reinterpret_cast<std::uintptr_t>(behind_all) % alignment;
    }
    bool has_room(std::size_t block_bytes) noexcept { return bytes >= least_bytes(block_bytes); }
  };

  static constexpr std::size_t alignment = std::max(alignof(Base), alignof(std::uint32_t));
  static constexpr std::size_t first_bytes = std::size_t{8} << 10;
  static constexpr std::size_t largest_bytes = std::size_t{2} << 20;
  /// The least size of a chunk with room for one statement, whose block has this size.
  static constexpr std::size_t least_bytes(std::size_t block_bytes) {
    return sizeof(chunk) + 2 * sizeof(run<Base>) + block_bytes + alignment;
  }

  statement_list() noexcept = default;
  statement_list(const statement_list& other) : statement_list() {
    for (chunk* one = other.first(); one; one = one == other.last() ? nullptr : one->behind)
      append_copy(*one);
  }
  statement_list(statement_list&& other) noexcept { swap(other); }
  statement_list& operator=(statement_list other) noexcept {
    swap(other);
    return *this;
  }
  ~statement_list() {
    while (last_) Alloc::return_memory(std::exchange(last_, last_->before));
  }
  void swap(statement_list& other) noexcept {
    std::swap(first_, other.first_);
    std::swap(used_, other.used_);
    std::swap(last_, other.last_);
  }

  /// Adds a chunk after the one in use, with room for at least a run and a block of that size. Throws std::bad_alloc, and then leaves the
  /// list unchanged.
  chunk& add(std::size_t block_bytes) {
    chunk* next = used_ ? used_->behind : first_;
    if (!next || !next->has_room(block_bytes)) {
      const std::size_t wanted = last_ ? std::min(2 * last_->bytes, largest_bytes) : first_bytes;
      next = get(std::max(wanted, least_bytes(block_bytes)));
    }
    next->last = ::new (static_cast<void*>(next->none())) run<Base>{};
    next->block = next->end();
    used_ = next;
    return *next;
  }

  /// Removes all statements, and keeps the memory.
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
  /// A new chunk behind the one in use.
  chunk* get(std::size_t bytes) {
    std::size_t given = 0;
    void* const memory = Alloc::get_memory(bytes, given);
    chunk* const behind = used_ ? used_->behind : first_;
    chunk* const added = ::new (memory) chunk{used_, behind, given};
    (used_ ? used_->behind : first_) = added;
    (behind ? behind->before : last_) = added;
    return added;
  }

  void append_copy(chunk& from) {
    chunk* const added = get(from.bytes);
    const std::size_t filled = static_cast<std::size_t>(from.end() - from.block);
    added->last = added->none() + (from.last - from.none());
    added->behind_last = from.behind_last;
    added->block = added->end() - filled;
    std::uninitialized_copy(from.none(), from.last + 1, added->none());
    std::memcpy(added->block, from.block, filled);
    used_ = added;
  }

  chunk* first_ = nullptr;
  chunk* used_ = nullptr;
  chunk* last_ = nullptr;
};

/// The numbers of a recording's independent variables: those made before the first statement are 1, 2, ...; those made later are listed.
template <class Alloc>
struct input_list {
  std::uint32_t leading = 0;
  capacity_vector<std::uint32_t, Alloc> late;

  std::size_t size() const noexcept { return leading + late.size(); }
  std::uint32_t operator[](std::size_t j) const noexcept {
    return j < leading ? static_cast<std::uint32_t>(j) + 1 : late[j - leading];
  }
};

/// Calls function(kind, block, i, count) for each run, from the first to the last. The run has `count` statements. Its first one is
/// statement i, and has that block.
template <class Base, class Alloc, class Function>
void for_each_run(const statement_list<Base, Alloc>& all, Function function) {
  for (auto* chunk = all.first(); chunk; chunk = chunk == all.last() ? nullptr : chunk->behind) {
    std::byte* end = chunk->end();
    for (const run<Base>* one = chunk->none() + 1; one <= chunk->last; ++one) {
      const kind<Base>& of = *one->of;
      const std::size_t count = (one == chunk->last ? chunk->behind_last : one[1].first) - one->first;
      function(of, end - of.bytes, std::size_t{one->first}, count);
      end -= of.bytes * count;
    }
  }
}

/// Calls function(kind, block, i, count) for each run, from that of statement `last` back to the first. A call covers `count` statements
/// from statement i back, and `block` is statement i's. The function returns the end of the last block that it used.
template <class Base, class Alloc, class Function>
void for_each_run_back(const statement_list<Base, Alloc>& all, std::size_t last, Function function) {
  for (auto* chunk = all.last(); chunk; chunk = chunk->before) {
    const std::byte* block = chunk->block;
    std::size_t end = chunk->behind_last;
    for (const run<Base>* one = chunk->last; one != chunk->none(); --one) {
      const kind<Base>& of = *one->of;
      if (end > last + 1) [[unlikely]] {
        const std::size_t behind = std::min(end - (last + 1), end - one->first);
        block += of.bytes * behind;
        end -= behind;
        if (end == one->first) continue;
      }
      block = function(of, block, end - 1, end - one->first);
      end = one->first;
    }
  }
}

/// Computes all values again from those of the independent variables, which the caller has set.
template <class Base, class Alloc>
void forward_sweep(const statement_list<Base, Alloc>& all, Base* values) {
  for_each_run(all, [values](const kind<Base>& of, std::byte* block, std::size_t i, std::size_t count) {
    of.forward(block, values, i, count);
  });
}

/// Computes the tangent of each variable: its derivative along a direction. The caller has set the tangents of the independent variables to
/// that direction, and all other tangents to 0.
template <class Base, class Alloc>
void tangent_sweep(const statement_list<Base, Alloc>& all, Base* tangents) {
  for_each_run(all, [tangents](const kind<Base>& of, const std::byte* block, std::size_t i,
                               std::size_t count) { of.tangent(block, tangents, i, count); });
}

/// Adds each adjoint, times the partial derivatives, to the adjoints of the operands, from statement `last` back to the first. `adjoints`
/// has the elements 0 to last. The caller has set the adjoints from which the sweep starts.
template <class Base, class Alloc>
void reverse_sweep(const statement_list<Base, Alloc>& all, std::uint32_t last, Base* adjoints) {
  for_each_run_back(
      all, last, [adjoints](const kind<Base>& of, const std::byte* block, std::size_t i, std::size_t count) {
        return of.back(block, adjoints, i, count);
      });
}

}  // namespace corescale::detail
