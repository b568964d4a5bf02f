// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "corescale/memory/thread_allocator.hpp"

namespace corescale::inline v0 {

/// A vector that uses all the memory that it gets. std::vector asks for n elements, and does not learn that it gets room for up to half as
/// many more. This one, when full, asks for one element more and uses all the room that it gets. Because capacities grow by half, push_back
/// is amortised O(1), and at most a third of the memory is unused.
///
/// Otherwise its functions do what those of std::vector do. References stay valid until the capacity changes. If a function throws, the
/// elements are as before, provided that T moves without throwing or can be copied. A moved-from vector is empty. It has no allocator
/// argument, and bool is a type like any other.
template <class T, class Alloc = thread_alloc>
class capacity_vector {
 public:
  using value_type = T;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using reference = T&;
  using const_reference = const T&;
  using iterator = T*;
  using const_iterator = const T*;

  capacity_vector() noexcept = default;
  explicit capacity_vector(size_type n) : capacity_vector() { resize(n); }
  capacity_vector(size_type n, const T& value) : capacity_vector() { resize(n, value); }
  template <std::forward_iterator Iterator>
  capacity_vector(Iterator first, Iterator last) : room_(static_cast<size_type>(std::distance(first, last))) {
    std::uninitialized_copy(first, last, begin());
    size_ = static_cast<size_type>(std::distance(first, last));
  }
  capacity_vector(std::initializer_list<T> values) : capacity_vector(values.begin(), values.end()) {}
  capacity_vector(const capacity_vector& other) : capacity_vector(other.begin(), other.end()) {}
  capacity_vector(capacity_vector&& other) noexcept { swap(other); }
  capacity_vector& operator=(capacity_vector other) noexcept {
    swap(other);
    return *this;
  }
  ~capacity_vector() { clear(); }

  size_type size() const noexcept { return size_; }
  size_type capacity() const noexcept { return room_.count; }
  bool empty() const noexcept { return size_ == 0; }
  T* data() noexcept { return room_.memory; }
  const T* data() const noexcept { return room_.memory; }
  iterator begin() noexcept { return data(); }
  iterator end() noexcept { return data() + size_; }
  const_iterator begin() const noexcept { return data(); }
  const_iterator end() const noexcept { return data() + size_; }
  T& operator[](size_type i) noexcept { return data()[i]; }
  const T& operator[](size_type i) const noexcept { return data()[i]; }
  T& front() noexcept { return *begin(); }
  const T& front() const noexcept { return *begin(); }
  T& back() noexcept { return end()[-1]; }
  const T& back() const noexcept { return end()[-1]; }
  T& at(size_type i) { return data()[inside(i)]; }
  const T& at(size_type i) const { return data()[inside(i)]; }

  void push_back(const T& value) { emplace_back(value); }
  void push_back(T&& value) { emplace_back(std::move(value)); }

  template <class... Arguments>
  T& emplace_back(Arguments&&... arguments) {
    if (size_ == capacity()) [[unlikely]]
      return emplace_in_larger_room(std::forward<Arguments>(arguments)...);
    T* const added = std::construct_at(end(), std::forward<Arguments>(arguments)...);
    ++size_;
    return *added;
  }

  void pop_back() noexcept { std::destroy_at(begin() + --size_); }

  /// Keeps the memory.
  void clear() noexcept { shrink(0); }

  /// Room for n elements at least.
  void reserve(size_type n) {
    if (n <= capacity()) return;
    room larger(n);
    move_to(larger);
    room_.swap(larger);
  }

  /// New elements are value-initialised, or copies of value.
  void resize(size_type n) {
    if (n <= size_) return shrink(n);
    reserve(n);
    std::uninitialized_value_construct_n(end(), n - size_);
    size_ = n;
  }
  void resize(size_type n, const T& value) {
    if (n <= size_) return shrink(n);
    const T kept = value;  // value may be an element of this vector
    reserve(n);
    std::uninitialized_fill(end(), begin() + n, kept);
    size_ = n;
  }

  void swap(capacity_vector& other) noexcept {
    room_.swap(other.room_);
    std::swap(size_, other.size_);
  }
  friend void swap(capacity_vector& a, capacity_vector& b) noexcept { a.swap(b); }
  friend bool operator==(const capacity_vector& a, const capacity_vector& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  /// Memory for count elements, none of which is constructed.
  struct room {
    room() noexcept = default;
    explicit room(size_type least) {
      if (least == 0) return;
      const allocation<T> given = thread_allocator<T, Alloc>().allocate_at_least(least);
      memory = given.ptr;
      count = given.count;
    }
    room(const room&) = delete;
    room& operator=(const room&) = delete;
    ~room() {
      if (memory) Alloc::return_memory(memory);
    }
    void swap(room& other) noexcept {
      std::swap(memory, other.memory);
      std::swap(count, other.count);
    }
    T* memory = nullptr;
    size_type count = 0;
  };

  template <class... Arguments>
  T& emplace_in_larger_room(Arguments&&... arguments) {
    room larger(size_ + 1);
    T* const added = std::construct_at(larger.memory + size_, std::forward<Arguments>(arguments)...);
    try {
      move_to(larger);
    } catch (...) {
      std::destroy_at(added);
      throw;
    }
    room_.swap(larger);
    ++size_;
    return *added;
  }

  void move_to(room& other) {
    if constexpr (std::is_nothrow_move_constructible_v<T> || !std::is_copy_constructible_v<T>) {
      std::uninitialized_move(begin(), end(), other.memory);
    } else {
      std::uninitialized_copy(begin(), end(), other.memory);
    }
    std::destroy(begin(), end());
  }

  void shrink(size_type n) noexcept {
    std::destroy(begin() + n, end());
    size_ = n;
  }

  size_type inside(size_type i) const {
    if (i >= size_) throw std::out_of_range("capacity_vector::at: no element with that index");
    return i;
  }

  room room_;
  size_type size_ = 0;
};

}  // namespace corescale
