// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>

#include "corescale/tape/detail/recorder.hpp"
#include "corescale/tape/operations.hpp"

namespace corescale::inline v0 {

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
    if (x.place_ == 0) [[unlikely]]
      return of_parameter<Row>(x);
    recorder<Base>& tape = *open_recording<Base>;
    if (tape.is_full()) [[unlikely]]
      return apply_with_room<Row>(x);
    require_open(x, tape);
    // A copy, which no call can change, and of_parameter() beside it: a compiler then computes sine and cosine at once.
    const Base at = x.value_;
    const Base z = static_cast<Base>(Row::value(at));
    return {z, tape.put(static_cast<Base>(Row::dx(at, z)), static_cast<Base>(0.0),
                        encode(operations::number_of<Row>(), index_of(x.place_), tape.no_variable()))};
  }

  /// Out of line: a second sine in apply() would keep g++ from joining its sine and cosine.
  template <class Row>
  [[gnu::noinline]] static number of_parameter(const number& x) {
    return number(static_cast<Base>(Row::value(x.value_)));
  }

  template <class Row>
  static number apply(const number& x, const number& y) {
    recorder<Base>& tape = *open_recording<Base>;
    const bool x_varies = is_open(x, tape), y_varies = is_open(y, tape);
    if (x_varies && y_varies) return record<Row, true, true>(tape, x, y);
    if (x_varies && y.place_ == 0) return record<Row, true, false>(tape, x, y);
    if (y_varies && x.place_ == 0) return record<Row, false, true>(tape, x, y);
    operand(x, tape), operand(y, tape);
    return number(static_cast<Base>(Row::value(x.value_, y.value_)));
  }

  /// A comparison, which a later evaluation must find as it is now.
  template <class Comparison>
  static bool compare(const number& x, const number& y) {
    const bool outcome = Comparison::holds(x.value_, y.value_);
    if (x.place_ == 0 && y.place_ == 0) return outcome;
    append_operands(outcome ? operations::number_of<operations::branch<Comparison, true>>()
                            : operations::number_of<operations::branch<Comparison, false>>(),
                    x, y);
    return outcome;
  }

  /// The selection `left compared to right ? x : y`, decided anew at each evaluation.
  template <class Comparison>
  static number select(const number& left, const number& right, const number& x, const number& y) {
    const bool first = Comparison::holds(left.value_, right.value_);
    if (left.place_ == 0 && right.place_ == 0) return first ? x : y;
    recorder<Base>& tape = *open_recording<Base>;
    const std::uint32_t if_first = operand(x, tape), if_second = operand(y, tape);
    append_operands(operations::number_of<operations::choice<Comparison>>(), left, right);
    get_room(x, y);
    const Base taken = static_cast<Base>(1.0), not_taken = static_cast<Base>(0.0);
    return {first ? x.value_ : y.value_,
            tape.put(x.is_variable() ? (first ? taken : not_taken) : x.value_,
                     y.is_variable() ? (first ? not_taken : taken) : y.value_,
                     encode(operations::number_of<operations::selection>(), if_first, if_second))};
  }

  static number variable(const Base& value, std::uint64_t place) { return {value, place}; }
  static std::uint64_t place(const number& x) { return x.place_; }

 private:
  /// Of an operand that varies, the partial derivative and the number; of a parameter, the value.
  template <class Row, bool XVaries, bool YVaries>
  static number record(recorder<Base>& tape, const number& x, const number& y) {
    if (tape.is_full()) [[unlikely]]
      return apply_with_room<Row>(x, y);
    const Base z = static_cast<Base>(Row::value(x.value_, y.value_));
    Base dx = x.value_, dy = y.value_;
    if constexpr (XVaries) dx = static_cast<Base>(Row::dx(x.value_, y.value_, z));
    if constexpr (YVaries) dy = static_cast<Base>(Row::dy(x.value_, y.value_, z));
    return {z,
            tape.put(dx, dy,
                     encode(operations::number_of<Row>(), XVaries ? index_of(x.place_) : tape.no_variable(),
                            YVaries ? index_of(y.place_) : tape.no_variable()))};
  }

  /// Gets room and applies. It takes operands and gives the result in registers: were it to come back into
  /// the middle of apply(), the fast path would keep its numbers in memory.
  template <class Row, std::same_as<number>... Operands>
  [[gnu::noinline, gnu::cold]] static number apply_with_room(Operands... operands) {
    get_room(operands...);
    return apply<Row>(operands...);
  }

  template <std::same_as<number>... Operands>
  static void get_room(const Operands&... operands) {
    recorder<Base>& tape = *open_recording<Base>;
    (operand(operands, tape), ...);
    if (tape.is_full()) tape.grow(tape);
  }

  static bool is_open(const number& x, const recorder<Base>& tape) {
    return recording_of(x.place_) == tape.recording();
  }

  static void require_open(const number& x, const recorder<Base>& tape) {
    if (recording_of(x.place_) != tape.recording()) [[unlikely]]
      throw_not_open(recording_of(x.place_), tape.recording());
  }

  /// The number to record for an operand.
  static std::uint32_t operand(const number& x, const recorder<Base>& tape) {
    if (x.place_ == 0) return tape.no_variable();
    require_open(x, tape);
    return index_of(x.place_);
  }

  /// An operation whose derivatives are nobody's: it keeps the operands' values.
  static void append_operands(unsigned op, const number& x, const number& y) {
    get_room(x, y);
    recorder<Base>& tape = *open_recording<Base>;
    tape.put(x.value_, y.value_, encode(op, operand(x, tape), operand(y, tape)));
  }
};

}  // namespace detail
}  // namespace corescale
