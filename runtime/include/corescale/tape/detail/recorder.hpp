// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "corescale/tape/detail/cheap.hpp"
#include "corescale/tape/tape_misuse.hpp"

// The parts of a recording, and what a statement needs to record itself.
namespace corescale::inline v0::detail {

/// Numbers of recordings. 0 is for parameters, and 1 for a thread without a recording. All others are unique in the process, until 2^32
/// have been given out; threads get them in blocks of 4096.
inline constexpr std::uint32_t parameter = 0;
inline constexpr std::uint32_t none_open = 1;
std::uint32_t next_recording();

/// The place of a variable. It is two numbers and not one word, so that the compiler sees that a statement's result is in the same
/// recording as its operands.
struct place {
  std::uint32_t recording = parameter;
  std::uint32_t index = 0;  ///< its number in the recording, from 1 on; 0 for a parameter
};

inline constexpr std::uint32_t last_index = std::numeric_limits<std::uint32_t>::max() - 1;

/// One step of a statement: an operation, operand or constant. Sweeps over types other than Base run steps one by one.
struct step {
  static constexpr std::uint16_t operand = 0xffff;   ///< the x-th operand of the statement
  static constexpr std::uint16_t constant = 0xfffe;  ///< the x-th stored number
  std::uint16_t op;    ///< one of these two, or the number of a row of operations::table
  std::uint16_t x, y;  ///< the steps that give its operands
};

/// A value and its derivative along a direction.
template <class Base>
using line = series<Base, 1>;

/// Whether statements over Base are compiled for lines. Series of other orders, and those of other types, are evaluated step by step.
template <class Base>
inline constexpr bool has_lines = is_cheap<Base>&& is_cheap<line<Base>>;

/// The sweeps of a kind over lines; empty without has_lines. They store nothing: `back` computes again what it needs from the values.
template <class Base>
struct line_sweeps {
  void (*forward)(const std::byte* block, line<Base>* values, std::size_t i, std::size_t count) = nullptr;
  const std::byte* (*back)(const std::byte* block, const line<Base>* values, line<Base>* adjoints,
                           std::size_t i, std::size_t count) = nullptr;
};

/// The properties that statements of one type share. The record of a statement is a block: its stored numbers, and the numbers of the
/// variables that are its operands. Statement i defines variable i. Consecutive statements of one kind form a run, which stores the kind
/// once.
/// The functions take a run: the block and the number of its first statement, and the number of its statements. First is meant in the order
/// of the sweep.
template <class Base>
struct kind {
  /// Propagates the adjoint of each statement to its operands, from the last statement of the run to the first. Returns the end of the
  /// first one's block.
  const std::byte* (*back)(const std::byte* block, Base* adjoints, std::size_t i, std::size_t count);
  /// Computes values from those of the operands, and stores numbers again, from the first statement to the last.
  void (*forward)(std::byte* block, Base* values, std::size_t i, std::size_t count);
  void (*tangent)(const std::byte* block, Base* tangents, std::size_t i, std::size_t count);
  line_sweeps<Base> lines;
  std::uint32_t bytes;    ///< of a block
  std::uint16_t numbers;  ///< stored numbers in a block
  std::uint16_t size;     ///< how many steps a statement has
  const step* steps;
};

template <class Base>
struct run {
  const kind<Base>* of;
  std::uint32_t first;  ///< number of its first statement; it ends where the next one begins
};

/// The open recording of a thread, as statements see it. `grow` gets room for a run and a block of the given size. If it throws
/// (std::bad_alloc or std::length_error), the recording is unchanged.
/// Runs fill the room from its beginning upwards, and blocks from its end downwards.
/// `number` and `index` are apart: g++ would load two neighbours at once to make a place, and wait until the last index is in the cache.
template <class Base>
struct recorder {
  run<Base>* latest = nullptr;       ///< the last run; at the beginning of a room, an empty one
  std::uintptr_t block = 0;          ///< the block of the last statement
  std::uint32_t number = none_open;  ///< number of the recording
  void (*grow)(recorder&, std::size_t bytes) = nullptr;
  std::uint32_t index = 0;  ///< index of the next statement

  std::uint32_t recording() const noexcept {
    if (number == parameter) __builtin_unreachable();  // what is known to be a parameter needs no comparison
    return number;
  }
};

/// The recording that statements find while nothing is recorded. No variable has its number, so nothing is written to it.
template <class Base>
inline constinit recorder<Base> idle{};

/// The recording that the calling thread has open for variables over Base; never null.
template <class Base>
inline constinit thread_local recorder<Base>* open_recording = &idle<Base>;

}  // namespace corescale::detail
