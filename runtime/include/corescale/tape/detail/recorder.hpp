// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <new>

#include "corescale/tape/tape_misuse.hpp"

// What an operator needs to record itself: a place to write, and the number of the recording that is open.
namespace corescale::inline v0::detail {

inline constexpr unsigned op_bits = 6;
inline constexpr unsigned index_bits = 29;
inline constexpr std::uint32_t index_mask = (std::uint32_t{1} << index_bits) - 1;

/// One operation z = op(x, y): a word with the numbers of op and of its operands, read with a shift or a mask each.
/// Apart from it lie the numbers that are kept of it, none to two (operations::kept): its partial derivatives where it was
/// recorded, as far as they do not follow from op.
///
/// Variables are numbered as they are recorded, so operation i gives variable i. The first
/// `parameter_slots` numbers stand for "no variable"; an operand of such a number is a parameter, and its value is kept in
/// place of the partial derivative that it does not need, so that the function can be evaluated again.
struct operation {
  std::uint64_t word;

  operation(unsigned op, std::uint32_t x, std::uint32_t y) noexcept
      : word(std::uint64_t{x} << (op_bits + index_bits) | std::uint64_t{y} << op_bits | op) {}

  unsigned op() const noexcept { return static_cast<unsigned>(word % (1U << op_bits)); }
  std::uint32_t x() const noexcept { return static_cast<std::uint32_t>(word >> (op_bits + index_bits)); }
  std::uint32_t y() const noexcept { return static_cast<std::uint32_t>(word >> op_bits) & index_mask; }
};

/// A reverse sweep also adds to the adjoint of "no variable", because an addition is cheaper than a branch. There
/// are eight such adjoints, a cache line of them, so that these additions do not wait for each other.
inline constexpr std::uint32_t parameter_slots = 8;

/// Numbers of recordings: 0 is that of parameters, 1 that of a thread without a recording; all others tell a
/// recording from any other of the process, until 2^32 have been given out, in blocks of 4096 to a thread.
inline constexpr std::uint32_t parameter = 0;
inline constexpr std::uint32_t none_open = 1;
std::uint32_t next_recording();

/// Where a variable is. It is two numbers and not one word. So the compiler sees that the result of an operation is in the same recording
/// as its operands.
struct place {
  std::uint32_t recording = parameter;
  std::uint32_t index = 0;  ///< its number in the recording; 0 for a parameter
};

/// The open recording of a thread, as operators see it. `grow` gets room for one operation at least; it throws
/// std::bad_alloc or std::length_error, and the recording then is as it was.
/// Operations fill a room from its begin on, and the numbers that are kept of them from its end down.
template <class Base>
struct recorder {
  std::uintptr_t origin = 0;         ///< where operation 0 would be, were its room that large
  Base* numbers = nullptr;           ///< those of the last operation
  std::uint32_t number = none_open;  ///< of the recording itself
  std::uint32_t index = 0;           ///< of the next operation
  std::uint32_t limit = 0;           ///< operations before this one have room, whatever is kept of them
  void (*grow)(recorder&) = nullptr;

  std::uint32_t recording() const noexcept {
    if (number == parameter) __builtin_unreachable();  // what is known to be a parameter needs no comparison
    return number;
  }

  std::uintptr_t next() const noexcept { return origin + std::uintptr_t{index} * sizeof(operation); }

  bool is_full() const noexcept { return index >= limit; }

  /// How many operations have room, whatever is kept of them.
  std::uint32_t room() const noexcept {
    constexpr std::size_t most = sizeof(operation) + 2 * sizeof(Base);
    return static_cast<std::uint32_t>((reinterpret_cast<std::uintptr_t>(numbers) - next()) / most);
  }

  /// Appends an operation where there is room, and what is kept of it; returns the place of its variable.
  template <std::same_as<Base>... Kept>
  [[gnu::always_inline]] place put(unsigned op, std::uint32_t x, std::uint32_t y, const Kept&... kept) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): a pointer to where operation 0 would be may not exist
    ::new (reinterpret_cast<void*>(next())) operation(op, x, y);
    if constexpr (sizeof...(kept) > 0) {
      Base* at = numbers -= sizeof...(kept);
      (::new (static_cast<void*>(at++)) Base(kept), ...);
    }
    return {recording(), index++};
  }

  /// The number of a slot for an operand that is no variable.
  std::uint32_t no_variable() const noexcept { return index % parameter_slots; }
};

/// What operators find while nothing is recorded. No variable has its number, so nothing is written to it.
template <class Base>
inline constinit recorder<Base> idle{};

/// The recording that the calling thread has open for variables over Base; never null.
template <class Base>
inline constinit thread_local recorder<Base>* open_recording = &idle<Base>;

}  // namespace corescale::detail
