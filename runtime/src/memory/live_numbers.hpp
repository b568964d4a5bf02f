// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

namespace corescale::inline v0::detail {

/// The numbers that threads have, as one bit each, so that the least free one is found 64 at a time. Made of
/// malloc()ed memory, never freed.
class live_numbers {
 public:
  /// Below this: more threads than Linux has process ids. Greater ones, which a program chose, are not kept
  /// here.
  static constexpr std::size_t end = std::size_t{1} << 22;

  std::size_t least_free() noexcept {
    while (first_ < words_ && bits_[first_] == ~std::uint64_t{0}) ++first_;
    return first_ < words_ ? 64 * first_ + static_cast<std::size_t>(std::countr_one(bits_[first_]))
                           : 64 * words_;
  }

  /// Throws std::bad_alloc, and nothing is changed.
  void insert(std::size_t number) {
    if (number >= end) return;
    if (number / 64 >= words_) grow(number / 64 + 1);
    bits_[number / 64] |= bit(number);
  }

  void erase(std::size_t number) noexcept {
    if (number >= end) return;
    bits_[number / 64] &= ~bit(number);
    first_ = std::min(first_, number / 64);
  }

 private:
  static std::uint64_t bit(std::size_t number) noexcept { return std::uint64_t{1} << number % 64; }

  void grow(std::size_t least) {
    const std::size_t words = std::max(least, 2 * words_);
    void* const room = std::calloc(words, sizeof(std::uint64_t));
    if (!room) throw std::bad_alloc();
    if (bits_) std::memcpy(room, bits_, words_ * sizeof(std::uint64_t));
    std::free(bits_);
    bits_ = static_cast<std::uint64_t*>(room);
    words_ = words;
  }

  std::uint64_t* bits_ = nullptr;
  std::size_t words_ = 0;
  std::size_t first_ = 0;  ///< no word before it has a free number
};

}  // namespace corescale::detail
