// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "corescale/tape/detail/cheap.hpp"
#include "corescale/tape/tape_misuse.hpp"

// What a recording consists of, and what a statement needs to record itself.
namespace corescale::inline v0::detail {

/// Numbers of recordings: 0 is that of parameters, 1 that of a thread without a recording; all others tell a
/// recording from any other of the process, until 2^32 have been given out, in blocks of 4096 to a thread.
inline constexpr std::uint32_t parameter = 0;
inline constexpr std::uint32_t none_open = 1;
std::uint32_t next_recording();

/// Where a variable is. It is two numbers and not one word. So the compiler sees that the result of a statement is in the same recording
/// as its operands.
struct place {
  std::uint32_t recording = parameter;
  std::uint32_t index = 0;  ///< its number in the recording, from 1 on; 0 for a parameter
};

inline constexpr std::uint32_t last_index = std::numeric_limits<std::uint32_t>::max() - 1;

/// One operation of a statement, operand or constant: what sweeps over other types than Base run one by one.
struct step {
  static constexpr std::uint16_t operand = 0xffff;   ///< the statement's x-th one
  static constexpr std::uint16_t constant = 0xfffe;  ///< the x-th number that is kept
  std::uint16_t op;    ///< one of these two, or the number of a row of operations::table
  std::uint16_t x, y;  ///< the steps that give its operands
};

/// A value and its derivative along a direction.
template <class Base>
using line = series<Base, 1>;

/// Whether statements over Base are compiled for lines. Series of other orders, and those of other types, are evaluated step by step.
template <class Base>
inline constexpr bool has_lines = is_cheap<Base>&& is_cheap<line<Base>>;

/// The sweeps of a kind over lines; none without has_lines. They keep nothing: `back` finds anew what it needs of the values.
template <class Base>
struct line_sweeps {
  void (*forward)(const std::byte* block, line<Base>* values, std::size_t i, std::size_t count) = nullptr;
  const std::byte* (*back)(const std::byte* block, const line<Base>* values, line<Base>* adjoints,
                           std::size_t i, std::size_t count) = nullptr;
};

/// What the statements of one type have in common. Of a statement is recorded a block: the numbers that are kept of it, and the numbers of the
/// variables that are its operands. Statement i gives variable i. Statements of one kind in a row are a run, and have their kind once.
/// The functions take a run: the block of its first statement in the order of the sweep, the number of that, and how many there are.
template <class Base>
struct kind {
  /// Each hands its adjoint on to its operands; from the last statement of the run to the first. Returns the end of the first one's block.
  const std::byte* (*back)(const std::byte* block, Base* adjoints, std::size_t i, std::size_t count);
  /// Values from those of the operands, and what is kept anew; from the first statement to the last.
  void (*forward)(std::byte* block, Base* values, std::size_t i, std::size_t count);
  void (*tangent)(const std::byte* block, Base* tangents, std::size_t i, std::size_t count);
  line_sweeps<Base> lines;
  std::uint32_t bytes;    ///< of a block
  std::uint16_t numbers;  ///< how many are kept in it
  std::uint16_t size;     ///< how many steps a statement has
  const step* steps;
};

template <class Base>
struct run {
  const kind<Base>* of;
  std::uint32_t first;  ///< number of its first statement; it ends where the next one begins
};

/// The open recording of a thread, as statements see it. `grow` gets room for a run and a block of that size; it throws
/// std::bad_alloc or std::length_error, and the recording then is as it was.
/// Runs fill a room from its begin on, and blocks from its end down.
template <class Base>
struct recorder {
  run<Base>* latest = nullptr;       ///< of nothing at the begin of a room
  std::uintptr_t block = 0;          ///< that of the last statement
  std::uint32_t number = none_open;  ///< of the recording itself
  std::uint32_t index = 0;           ///< of the next statement
  void (*grow)(recorder&, std::size_t bytes) = nullptr;

  std::uint32_t recording() const noexcept {
    if (number == parameter) __builtin_unreachable();  // what is known to be a parameter needs no comparison
    return number;
  }
};

/// What statements find while nothing is recorded. No variable has its number, so nothing is written to it.
template <class Base>
inline constinit recorder<Base> idle{};

/// The recording that the calling thread has open for variables over Base; never null.
template <class Base>
inline constinit thread_local recorder<Base>* open_recording = &idle<Base>;

}  // namespace corescale::detail
