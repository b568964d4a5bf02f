// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "corescale/tape/detail/recorder.hpp"
#include "corescale/tape/operations.hpp"

namespace corescale {

template <class Base>
class real;

namespace detail {

/// What the operators of real<Base> do: compute z and, where an operand is a variable of the thread's open
/// recording, append the operation to it. Parameters alone give a parameter and are not recorded. Partial
/// derivatives are computed here, where the operands are at hand, and not at the reverse sweep.
template <class Base>
struct operators {
  using number = real<Base>;

  template <class Row>
  static number apply(const number& x) {
    const Base z = static_cast<Base>(Row::value(x.value_));
    if (x.recording_ == parameter) return number(z);
    recorder<Base>& tape = *open_recording<Base>;
    if (x.recording_ != tape.recording) [[unlikely]]
      throw_not_open(x.recording_, tape.recording);
    return variable(tape, z, static_cast<Base>(Row::dx(x.value_, z)), static_cast<Base>(0.0),
                    encode(operations::number_of<Row>(), x.index_, tape.no_variable()));
  }

  template <class Row>
  static number apply(const number& x, const number& y) {
    const Base z = static_cast<Base>(Row::value(x.value_, y.value_));
    if (x.recording_ == parameter && y.recording_ == parameter) return number(z);
    recorder<Base>& tape = *open_recording<Base>;
    const std::uint32_t open = tape.recording;
    constexpr unsigned op = operations::number_of<Row>();
    if (x.recording_ == open && y.recording_ == open)
      return variable(tape, z, dx<Row>(x, y, z), dy<Row>(x, y, z), encode(op, x.index_, y.index_));
    if (x.recording_ == open && y.recording_ == parameter)
      return variable(tape, z, dx<Row>(x, y, z), y.value_, encode(op, x.index_, tape.no_variable()));
    if (x.recording_ == parameter && y.recording_ == open)
      return variable(tape, z, x.value_, dy<Row>(x, y, z), encode(op, tape.no_variable(), y.index_));
    throw_not_open(foreign(x, y, open), open);
  }

  /// A comparison, which a later evaluation must find as it is now.
  template <class Comparison>
  static bool compare(const number& x, const number& y) {
    const bool outcome = Comparison::holds(x.value_, y.value_);
    if (x.recording_ == parameter && y.recording_ == parameter) return outcome;
    append_operands(outcome ? operations::number_of<operations::branch<Comparison, true>>()
                            : operations::number_of<operations::branch<Comparison, false>>(),
                    x, y);
    return outcome;
  }

  /// The selection `left compared to right ? x : y`, decided anew at each evaluation.
  template <class Comparison>
  static number select(const number& left, const number& right, const number& x, const number& y) {
    const bool first = Comparison::holds(left.value_, right.value_);
    if (left.recording_ == parameter && right.recording_ == parameter) return first ? x : y;
    recorder<Base>& tape = *open_recording<Base>;
    const operand left_side(x, tape), right_side(y, tape);
    append_operands(operations::number_of<operations::choice<Comparison>>(), left, right);
    const Base taken = static_cast<Base>(1.0), not_taken = static_cast<Base>(0.0);
    return variable(
        tape, first ? x.value_ : y.value_, left_side.varies ? (first ? taken : not_taken) : x.value_,
        right_side.varies ? (first ? not_taken : taken) : y.value_,
        encode(operations::number_of<operations::selection>(), left_side.index, right_side.index));
  }

  /// A new variable of an open recording.
  static number variable(recorder<Base>& tape, const Base& z, const Base& dx, const Base& dy,
                         std::uint64_t code) {
    const std::uint32_t index = tape.push(dx, dy, code);
    return {z, index, tape.recording};
  }

  static std::uint32_t index(const number& x) { return x.index_; }
  static std::uint32_t recording(const number& x) { return x.recording_; }

 private:
  template <class Row>
  static Base dx(const number& x, const number& y, const Base& z) {
    return static_cast<Base>(Row::dx(x.value_, y.value_, z));
  }
  template <class Row>
  static Base dy(const number& x, const number& y, const Base& z) {
    return static_cast<Base>(Row::dy(x.value_, y.value_, z));
  }

  struct operand {
    operand(const number& x, const recorder<Base>& tape)
        : varies(x.recording_ == tape.recording), index(varies ? x.index_ : tape.no_variable()) {
      if (!varies && x.recording_ != parameter) throw_not_open(x.recording_, tape.recording);
    }
    bool varies;
    std::uint32_t index;
  };

  /// An operation whose derivatives are nobody's: it keeps the operands' values.
  static void append_operands(unsigned op, const number& x, const number& y) {
    recorder<Base>& tape = *open_recording<Base>;
    const operand left(x, tape), right(y, tape);
    tape.push(x.value_, y.value_, encode(op, left.index, right.index));
  }

  static std::uint32_t foreign(const number& x, const number& y, std::uint32_t open) {
    return x.recording_ == parameter || x.recording_ == open ? y.recording_ : x.recording_;
  }
};

}  // namespace detail
}  // namespace corescale
