// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "corescale/tape/detail/cheap.hpp"
#include "corescale/tape/detail/recorder.hpp"
#include "corescale/tape/operations.hpp"

namespace corescale::inline v0 {

template <class Base>
class real;

namespace detail {

/// Whether operations on T may be recorded themselves.
template <class T>
inline constexpr bool records = false;
template <class Base>
inline constexpr bool records<real<Base>> = true;

/// What the operators of real<Base> do: compute z and, where an operand is a variable of the thread's open
/// recording, append the operation to it. Operations on nothing but parameters give a parameter and are not recorded. Partial
/// derivatives are computed here, where the operands are at hand, and not at the reverse sweep.
///
/// If Base is cheap, always_inline forces inlining. g++ would call functions of this size and pass numbers in
/// memory, which costs more than an operation. If Base itself records, nothing is forced, because each
/// operator would contain all of Base's recording: 37 operators of real<real<double>> took 40 s to compile.
template <class Base>
struct operators {
  using number = real<Base>;

  template <class Row>
  requires is_cheap<Base>
  [[gnu::always_inline]] static number apply(const auto&... operands) { return applied<Row>(operands...); }
  template <class Row>
  [[gnu::noinline]] static number apply(const auto&... operands) {
    return applied<Row>(operands...);
  }

  template <class Row>
  [[gnu::always_inline]] static number applied(const number& x) {
    if (!x.is_variable()) [[unlikely]]
      return number(static_cast<Base>(Row::value(x.value_)));
    recorder<Base>& tape = *open_recording<Base>;
    if (!is_open(x, tape)) [[unlikely]]
      refuse(x, x);
    if (tape.is_full()) [[unlikely]]
      return apply_with_room<Row>(x);
    const auto [z, dx] = operations::value_and_dx<Row, Base>(x.value_);
    constexpr unsigned op = operations::number_of<Row>();
    if constexpr (operations::is_linear(op)) {
      return {z, tape.put(op, x.place_.index, 0)};
    } else {
      return {z, tape.put(op, x.place_.index, 0, dx)};
    }
  }

  template <class Row>
  [[gnu::always_inline]] static number applied(const number& x, const number& y) {
    recorder<Base>& tape = *open_recording<Base>;
    if (is_open(x, tape) && is_open(y, tape)) return record<Row, true, true>(tape, x, y);
    if (!y.is_variable() && is_open(x, tape)) return record<Row, true, false>(tape, x, y);
    if (!x.is_variable() && is_open(y, tape)) return record<Row, false, true>(tape, x, y);
    if (x.is_variable() || y.is_variable()) [[unlikely]]
      refuse(x, y);
    return number(static_cast<Base>(Row::value(x.value_, y.value_)));
  }

  /// Records a comparison. A later evaluation must find the same outcome.
  template <class Comparison>
  static bool compare(const number& x, const number& y) {
    const bool outcome = Comparison::holds(x.value_, y.value_);
    if (!x.is_variable() && !y.is_variable()) return outcome;
    append_operands(outcome ? operations::number_of<operations::branch<Comparison, true>>()
                            : operations::number_of<operations::branch<Comparison, false>>(),
                    x, y);
    return outcome;
  }

  /// The selection `left compared to right ? x : y`, decided anew at each evaluation.
  template <class Comparison>
  static number select(const number& left, const number& right, const number& x, const number& y) {
    const auto chosen = [&](const Base& first, const Base& second) {
      return choose(Comparison(), left.value_, right.value_, first, second);
    };
    if (!left.is_variable() && !right.is_variable()) {
      if constexpr (!records<Base>) return Comparison::holds(left.value_, right.value_) ? x : y;
      if (!x.is_variable() && !y.is_variable()) return chosen(x.value_, y.value_);
    }
    recorder<Base>& tape = *open_recording<Base>;
    const std::uint32_t if_first = operand(x, tape), if_second = operand(y, tape);
    append_operands(operations::number_of<operations::choice<Comparison>>(), left, right);
    const Base taken = static_cast<Base>(1.0), not_taken = static_cast<Base>(0.0);
    if (tape.is_full()) tape.grow(tape);
    return {chosen(x.value_, y.value_),
            tape.put(operations::number_of<operations::selection>(), if_first, if_second,
                     x.is_variable() ? chosen(taken, not_taken) : x.value_,
                     y.is_variable() ? chosen(not_taken, taken) : y.value_)};
  }

  static number variable(const Base& value, place at) { return {value, at}; }
  static place place_of(const number& x) { return x.place_; }

 private:
  /// Keeps the partial derivative of a variable operand, unless it follows from the operation. Keeps the
  /// value of a parameter.
  template <class Row, bool XVaries, bool YVaries>
  [[gnu::always_inline]] static number record(recorder<Base>& tape, const number& x, const number& y) {
    if (tape.is_full()) [[unlikely]]
      return record_with_room<Row, XVaries, YVaries>(x, y);
    const Base z = static_cast<Base>(Row::value(x.value_, y.value_));
    using as = operations::recorded<Row, XVaries && YVaries>;
    constexpr unsigned op = operations::number_of<as>();
    const std::uint32_t of_x = XVaries ? x.place_.index : tape.no_variable();
    const std::uint32_t of_y = YVaries ? y.place_.index : tape.no_variable();
    if constexpr (operations::kept_of<as>() == 0) {
      return {z, tape.put(op, of_x, of_y)};
    } else if constexpr (operations::kept_of<as>() == 1) {
      // the variable first, if the operands may be swapped
      if constexpr (!XVaries && !operations::is_difference(op)) return {z, tape.put(op, of_y, 0, x.value_)};
      return {z, tape.put(op, of_x, of_y, XVaries ? y.value_ : x.value_)};
    } else {
      Base dx = x.value_, dy = y.value_;
      if constexpr (XVaries) dx = static_cast<Base>(Row::dx(x.value_, y.value_, z));
      if constexpr (YVaries) dy = static_cast<Base>(Row::dy(x.value_, y.value_, z));
      return {z, tape.put(op, of_x, of_y, dx, dy)};
    }
  }

  /// These take and return everything in registers. If they returned into the middle of apply(), the fast
  /// path would keep its numbers in memory.
  template <class Row>
  [[gnu::noinline, gnu::cold]] static number apply_with_room(number x) {
    open_recording<Base>->grow(*open_recording<Base>);
    return applied<Row>(x);
  }
  template <class Row, bool XVaries, bool YVaries>
  [[gnu::noinline, gnu::cold]] static number record_with_room(number x, number y) {
    recorder<Base>& tape = *open_recording<Base>;
    tape.grow(tape);
    return record<Row, XVaries, YVaries>(tape, x, y);
  }

  /// Says which of two operands is not a variable of the open recording.
  [[noreturn, gnu::noinline, gnu::cold]] static void refuse(number x, number y) {
    const std::uint32_t open = open_recording<Base>->recording();
    throw_not_open(x.is_variable() && x.place_.recording != open ? x.place_.recording : y.place_.recording,
                   open);
  }

  static bool is_open(const number& x, const recorder<Base>& tape) {
    return x.place_.recording == tape.recording();
  }

  /// The number to record for an operand.
  static std::uint32_t operand(const number& x, const recorder<Base>& tape) {
    if (!x.is_variable()) return tape.no_variable();
    if (!is_open(x, tape)) [[unlikely]]
      refuse(x, x);
    return x.place_.index;
  }

  /// An operation without derivatives: it keeps the operands' values.
  static void append_operands(unsigned op, const number& x, const number& y) {
    recorder<Base>& tape = *open_recording<Base>;
    const std::uint32_t of_x = operand(x, tape), of_y = operand(y, tape);
    if (tape.is_full()) tape.grow(tape);
    tape.put(op, of_x, of_y, x.value_, y.value_);
  }
};

}  // namespace detail

namespace operations {

template <class Comparison, class Base>
real<Base> choose(Comparison, const real<Base>& left, const real<Base>& right, const real<Base>& x,
                  const real<Base>& y) {
  return detail::operators<Base>::template select<Comparison>(left, right, x, y);
}

}  // namespace operations
}  // namespace corescale
