// SPDX-License-Identifier: Apache-2.0 (more than 300 lines: the five kinds of node, which have the same functions)
#pragma once

#include <cstdint>
#include <new>
#include <type_traits>

#include "corescale/tape/detail/adjoints.hpp"
#include "corescale/tape/detail/recorder.hpp"
#include "corescale/tape/operations.hpp"

namespace corescale::inline v0 {

/// The result of an operator over a Base whose arithmetic is cheap (is_cheap) or recorded. It has the value, and copies of the operands, so
/// that nothing dangles. Its conversion to a real<Base> records it as one statement.
template <class Node>
struct expression {
  /// The value alone; the expression is not recorded.
  [[gnu::always_inline]] const auto& value() const noexcept { return static_cast<const Node&>(*this).z; }
};

namespace detail {

template <class T>
concept an_expression = std::is_base_of_v<expression<T>, T>;

/// Writes the steps of a statement.
struct step_writer {
  step* to;
  std::uint16_t size = 0, numbers = 0, operands = 0;

  constexpr std::uint16_t put(unsigned op, unsigned x, unsigned y) {
    to[size] = {static_cast<std::uint16_t>(op), static_cast<std::uint16_t>(x), static_cast<std::uint16_t>(y)};
    return size++;
  }
  constexpr void skip(unsigned kept) { numbers = static_cast<std::uint16_t>(numbers + kept); }
};

// Each kind of node provides
//   indices, nodes      the number of its operands that are variables; the number of its steps
//   numbers<Needed>     the number of values stored for it, in the order of write(); Needed: they must give its value
//   all_open, each      whether all its leaves are of this recording; f(leaf) for all
//   write<Needed, Anew> stores these values; Anew: constants, too
//   read                the node, from the values of the variables and the stored constants
//   over<T>             the same node with values of type T; its read() takes the constants stored for this one
//   kept                its value, if it is needed, from the stored ones
//   back<Needed, Zero>  passes its adjoint on; Zero: it may be 0
//   tangent<Needed>     its tangent from those of the variables
//   list<Needed>        its steps
// k and i always index its own numbers and operands.

/// A variable or a parameter. A parameter is recorded before its statement.
template <class B>
struct leaf : expression<leaf<B>> {
  using base_type = B;
  template <class T>
  using over = leaf<T>;
  static constexpr unsigned indices = 1, nodes = 1;
  template <bool Needed>
  static constexpr unsigned numbers = Needed ? 1 : 0;
  B z;
  place at;

  [[gnu::always_inline]] leaf(const B& value, place where) : z(value), at(where) {}
  /// Every node copies member by member, and in place: a copy as one block or by a call would go through memory, even on the fast path.
  [[gnu::always_inline]] leaf(const leaf& other) : z(other.z), at{other.at.recording, other.at.index} {}
  leaf& operator=(const leaf&) = default;
  [[gnu::always_inline]] bool all_open(std::uint32_t recording) const { return at.recording == recording; }
  [[gnu::always_inline]] static void each(auto& self, const auto& f) { f(self); }
  template <bool Needed, bool Anew>
  [[gnu::always_inline]] void write(B* k) const {
    if constexpr (Needed) ::new (static_cast<void*>(k)) B(z);
  }
  template <bool Needed>
  [[gnu::always_inline]] static leaf read(const auto*, const std::uint32_t* i, const B* values) {
    return {values[*i], {}};
  }
  [[gnu::always_inline]] static B kept(const B* k) { return *k; }
  template <bool Needed, bool Zero>
  [[gnu::always_inline]] static void back(const B*, const std::uint32_t* i, const B& weight, auto& adjoints) {
    adjoints.add(*i, weight);
  }
  template <bool Needed>
  [[gnu::always_inline]] static B tangent(const B*, const std::uint32_t* i, const B* tangents) {
    return tangents[*i];
  }
  template <bool Needed>
  static constexpr unsigned list(step_writer& to) {
    to.skip(numbers<Needed>);
    return to.put(step::operand, to.operands++, 0);
  }
};

/// Passes weight * partial to an operand as its adjoint. Over a recorded B, a leaf adds it in one statement.
template <class X, bool Needed, bool Zero, class B>
[[gnu::always_inline]] inline void pass(const B* k, const std::uint32_t* i, auto& adjoints, const B& weight,
                                        const auto& partial) {
  if constexpr (records<B> && std::is_same_v<X, leaf<B>>) {
    adjoints.add_product(*i, weight, partial);
  } else {
    X::template back<Needed, Zero>(k, i, times(weight, partial), adjoints);
  }
}

/// A constant, which depends on no variable. It is a B, or a coefficient of B, because products with a coefficient are cheaper. A statement
/// of a constant alone is a parameter that is an operand of other statements.
template <class B, class V = B>
struct constant : expression<constant<B, V>> {
  using base_type = B;
  template <class T>
  using over = constant<T, V>;
  static constexpr unsigned indices = 0, nodes = 1;
  template <bool Needed>
  static constexpr unsigned numbers = 1;
  V z;

  [[gnu::always_inline]] explicit constant(const V& value) : z(value) {}
  [[gnu::always_inline]] constant(const constant& other) : z(other.z) {}
  [[gnu::always_inline]] bool all_open(std::uint32_t) const { return true; }
  [[gnu::always_inline]] static void each(auto&, const auto&) {}
  template <bool Needed, bool Anew>
  [[gnu::always_inline]] void write(B* k) const {
    if constexpr (!Anew) ::new (static_cast<void*>(k)) B(z);
  }
  template <bool Needed>
  [[gnu::always_inline]] static constant read(const auto* k, const std::uint32_t*, const B*) {
    return constant(kept(k));
  }
  template <class Stored>
  [[gnu::always_inline]] static V kept(const Stored* k) {
    if constexpr (std::is_same_v<V, Stored>) {
      return *k;
    } else {
      return coefficient<Stored>::of(*k);
    }
  }
  template <bool Needed>
  static constexpr unsigned list(step_writer& to) {
    return to.put(step::constant, to.numbers++, 0);
  }
};

/// A function of one operand. It stores its derivative, so that expensive functions are computed only once.
template <class Row, class X>
struct unary_expression : expression<unary_expression<Row, X>> {
  using base_type = typename X::base_type;
  using B = base_type;
  template <class T>
  using over = unary_expression<Row, typename X::template over<T>>;
  static constexpr bool is_linear = std::is_same_v<Row, operations::negate>;
  static constexpr unsigned indices = X::indices, nodes = X::nodes + 1;
  template <bool Needed>
  static constexpr bool x_needed = is_linear&& Needed;
  template <bool Needed>
  static constexpr unsigned of_x = X::template numbers<x_needed<Needed>>;
  template <bool Needed>
  static constexpr unsigned own = is_linear ? 0
                                  : Needed  ? 2
                                            : 1;
  template <bool Needed>
  static constexpr unsigned numbers = of_x<Needed> + own<Needed>;
  X x;
  B z, dx;

  [[gnu::always_inline]] explicit unary_expression(const X& operand)
      : unary_expression(operand, value_and_dx(operand.z)) {}
  [[gnu::always_inline]] unary_expression(const X& operand, const operations::value_with_dx<B>& of)
      : x(operand), z(of.value), dx(of.dx) {}
  [[gnu::always_inline]] unary_expression(const unary_expression&) = default;
  [[gnu::always_inline]] static operations::value_with_dx<B> value_and_dx(const B& x) {
    if constexpr (is_linear) {
      return {static_cast<B>(-x), B(-1.0)};
    } else {
      return operations::value_and_dx<Row, B>(x);
    }
  }
  [[gnu::always_inline]] bool all_open(std::uint32_t recording) const { return x.all_open(recording); }
  [[gnu::always_inline]] static void each(auto& self, const auto& f) { X::each(self.x, f); }
  template <bool Needed, bool Anew>
  [[gnu::always_inline]] void write(B* k) const {
    x.template write<x_needed<Needed>, Anew>(k);
    if constexpr (!is_linear) ::new (static_cast<void*>(k + of_x<Needed>)) B(dx);
    if constexpr (!is_linear && Needed) ::new (static_cast<void*>(k + of_x<Needed> + 1)) B(z);
  }
  template <bool Needed>
  [[gnu::always_inline]] static unary_expression read(const auto* k, const std::uint32_t* i,
                                                      const B* values) {
    return unary_expression(X::template read<x_needed<Needed>>(k, i, values));
  }
  [[gnu::always_inline]] static B kept(const B* k) {
    if constexpr (is_linear) {
      return static_cast<B>(-X::kept(k));
    } else {
      return k[of_x<true> + 1];
    }
  }
  template <bool Needed, bool Zero>
  [[gnu::always_inline]] static void back(const B* k, const std::uint32_t* i, const B& weight,
                                          auto& adjoints) {
    if constexpr (is_linear) {
      X::template back<x_needed<Needed>, Zero>(k, i, static_cast<B>(-weight), adjoints);
    } else {
      if (Zero && is_zero(weight)) return;
      pass<X, false, true>(k, i, adjoints, weight, k[of_x<Needed>]);
    }
  }
  template <bool Needed>
  [[gnu::always_inline]] static B tangent(const B* k, const std::uint32_t* i, const B* tangents) {
    const B of = X::template tangent<x_needed<Needed>>(k, i, tangents);
    if constexpr (is_linear) {
      return static_cast<B>(-of);
    } else {
      return along(of, k[of_x<Needed>]);
    }
  }
  template <bool Needed>
  static constexpr unsigned list(step_writer& to) {
    const unsigned of = X::template list<x_needed<Needed>>(to);
    to.skip(own<Needed>);
    return to.put(operations::number_of<Row>(), of, of);
  }
};

/// An operation with two operands. At least one of them is not a constant. Its derivative needs the values of both operands for a product,
/// its own value and the divisor for a quotient, and nothing for a sum. All others store their partial derivatives. As a statement it may
/// also be a comparison on which the program may have branched (operations::branch).
template <class Row, class X, class Y>
struct binary_expression : expression<binary_expression<Row, X, Y>> {
  using base_type = typename X::base_type;
  using B = base_type;
  template <class T>
  using over = binary_expression<Row, typename X::template over<T>, typename Y::template over<T>>;
  static constexpr unsigned indices = X::indices + Y::indices, nodes = X::nodes + Y::nodes + 1;
  static constexpr bool x_varies = X::indices > 0, y_varies = Y::indices > 0;
  static constexpr bool decides = operations::branching<Row>;
  static constexpr bool is_sum =
      std::is_same_v<Row, operations::add> || std::is_same_v<Row, operations::subtract>;
  static constexpr bool is_product = std::is_same_v<Row, operations::multiply>;
  static constexpr bool is_quotient = std::is_same_v<Row, operations::divide>;
  static constexpr bool has_partials = !decides && !is_sum && !is_product && !is_quotient;
  static constexpr bool x_needed = is_product && y_varies;
  static constexpr bool y_needed = is_quotient || (is_product && x_varies);
  static constexpr unsigned of_x = X::template numbers<x_needed>;
  static constexpr unsigned of_both = of_x + Y::template numbers<y_needed>;
  static constexpr unsigned before_value = of_both + (has_partials ? x_varies + y_varies : 0);
  template <bool Needed>
  static constexpr bool keeps_value = (is_quotient && y_varies) ||
                                      (Needed && !(is_product && x_varies && y_varies));
  template <bool Needed>
  static constexpr unsigned numbers = before_value + (keeps_value<Needed> ? 1 : 0);
  [[gnu::always_inline]] static auto value_of(const auto& first, const auto& second) {
    if constexpr (decides) {
      return B(0.0);
    } else if constexpr (has_partials) {
      return static_cast<B>(Row::value(static_cast<const B&>(first), static_cast<const B&>(second)));
    } else if constexpr (records<B> && !keeps_value<false>) {
      return Row::value(first, second);
    } else {
      return static_cast<B>(Row::value(first, second));
    }
  }
  X x;
  Y y;
  decltype(value_of(x.z, y.z)) z;  ///< over a recorded type an expression again, unless it is stored

  [[gnu::always_inline]] binary_expression(const X& first, const Y& second)
      : x(first), y(second), z(value_of(first.z, second.z)) {}
  [[gnu::always_inline]] binary_expression(const binary_expression&) = default;
  void require_outcome(std::size_t i) const {
    if (Row::holds(x.z, y.z) != Row::outcome) throw_branch_change(Row::name, Row::outcome, i - 1);
  }
  [[gnu::always_inline]] bool all_open(std::uint32_t recording) const {
    return x.all_open(recording) && y.all_open(recording);
  }
  [[gnu::always_inline]] static void each(auto& self, const auto& f) {
    X::each(self.x, f);
    Y::each(self.y, f);
  }
  template <bool Needed, bool Anew>
  [[gnu::always_inline]] void write(B* k) const {
    x.template write<x_needed, Anew>(k);
    y.template write<y_needed, Anew>(k + of_x);
    if constexpr (has_partials && x_varies)
      ::new (static_cast<void*>(k + of_both))
          B(static_cast<B>(Row::dx(static_cast<const B&>(x.z), static_cast<const B&>(y.z), z)));
    if constexpr (has_partials && y_varies)
      ::new (static_cast<void*>(k + of_both + x_varies))
          B(static_cast<B>(Row::dy(static_cast<const B&>(x.z), static_cast<const B&>(y.z), z)));
    if constexpr (keeps_value<Needed>) ::new (static_cast<void*>(k + before_value)) B(z);
  }
  template <bool Needed>
  [[gnu::always_inline]] static binary_expression read(const auto* k, const std::uint32_t* i,
                                                       const B* values) {
    return {X::template read<x_needed>(k, i, values),
            Y::template read<y_needed>(k + of_x, i + X::indices, values)};
  }
  [[gnu::always_inline]] static B kept(const B* k) {
    if constexpr (keeps_value<true>) {
      return k[before_value];
    } else {
      return static_cast<B>(X::kept(k) * Y::kept(k + of_x));
    }
  }
  template <bool Needed, bool Zero>
  [[gnu::always_inline]] static void back(const B* k, const std::uint32_t* i, const B& weight,
                                          auto& adjoints) {
    const B* const of_y = k + of_x;
    const std::uint32_t* const i_of_y = i + X::indices;
    [[maybe_unused]] const auto to_x = [&]([[maybe_unused]] const auto& partial)
        __attribute__((always_inline)) {
      if constexpr (x_varies) pass<X, x_needed, true>(k, i, adjoints, weight, partial);
    };
    [[maybe_unused]] const auto to_y = [&]([[maybe_unused]] const auto& partial)
        __attribute__((always_inline)) {
      if constexpr (y_varies) pass<Y, y_needed, true>(of_y, i_of_y, adjoints, weight, partial);
    };
    if constexpr (is_sum) {
      if constexpr (x_varies) X::template back<x_needed, Zero>(k, i, weight, adjoints);
      if constexpr (y_varies)
        Y::template back<y_needed, Zero>(
            of_y, i_of_y, std::is_same_v<Row, operations::add> ? weight : static_cast<B>(-weight), adjoints);
    } else if constexpr (!decides) {
      if (Zero && !(is_product && !(x_varies && y_varies)) && is_zero(weight)) return;
      if constexpr (is_product) {
        if constexpr (x_varies) to_x(Y::kept(of_y));
        if constexpr (y_varies) to_y(X::kept(k));
      } else if constexpr (is_quotient) {
        const B part = static_cast<B>(weight / Y::kept(of_y));
        if constexpr (x_varies) X::template back<x_needed, true>(k, i, part, adjoints);
        if constexpr (y_varies)
          pass<Y, y_needed, true>(of_y, i_of_y, adjoints, static_cast<B>(-k[before_value]), part);
      } else {
        const B* const partials = k + of_both;
        if constexpr (x_varies) {
          if (!operations::picks<Row> || !is_zero(partials[0])) to_x(partials[0]);
        }
        if constexpr (y_varies) {
          if (!operations::picks<Row> || !is_zero(partials[x_varies])) to_y(partials[x_varies]);
        }
      }
    }
  }
  template <bool Needed>
  [[gnu::always_inline]] static B tangent(const B* k, const std::uint32_t* i, const B* tangents) {
    if constexpr (decides) return B(0.0);
    const B* const of_y = k + of_x;
    B tx(0.0), ty(0.0);
    if constexpr (x_varies) tx = X::template tangent<x_needed>(k, i, tangents);
    if constexpr (y_varies) ty = Y::template tangent<y_needed>(of_y, i + X::indices, tangents);
    if constexpr (is_sum) {
      return static_cast<B>(Row::value(tx, ty));
    } else if constexpr (is_product) {
      if constexpr (x_varies) tx = along(tx, Y::kept(of_y));
      if constexpr (y_varies) ty = along(ty, X::kept(k));
      return static_cast<B>(tx + ty);
    } else if constexpr (is_quotient) {
      if constexpr (y_varies) tx = static_cast<B>(tx - along(ty, k[before_value]));
      return is_zero(tx) ? B(0.0) : static_cast<B>(tx / Y::kept(of_y));
    } else {
      const auto part = [partials = k + of_both](const B& of, unsigned which) {
        return operations::picks<Row> && is_zero(partials[which]) ? B(0.0) : along(of, partials[which]);
      };
      if constexpr (x_varies) tx = part(tx, 0);
      if constexpr (y_varies) ty = part(ty, x_varies);
      return static_cast<B>(tx + ty);
    }
  }
  template <bool Needed>
  static constexpr unsigned list(step_writer& to) {
    const unsigned first = X::template list<x_needed>(to), second = Y::template list<y_needed>(to);
    to.skip(numbers<Needed> - of_both);
    return to.put(operations::number_of<Row>(), first, second);
  }
};

/// The selection `left < right ? x : y`, for any comparison. It is a statement, so each evaluation decides anew.
template <class Comparison, class B>
struct selection_expression : expression<selection_expression<Comparison, B>> {
  using base_type = B;
  template <class T>
  using over = selection_expression<Comparison, T>;
  static constexpr unsigned indices = 4, nodes = 6;
  template <bool Needed>
  static constexpr unsigned numbers = 2;
  leaf<B> left, right, x, y;
  B z;

  selection_expression(const leaf<B>& less, const leaf<B>& more, const leaf<B>& first, const leaf<B>& second)
      : left(less), right(more), x(first), y(second), z(chosen(x.z, y.z)) {}
  B chosen(const B& first, const B& second) const {
    return choose(Comparison(), left.z, right.z, first, second);
  }
  bool all_open(std::uint32_t recording) const {
    return left.all_open(recording) && right.all_open(recording) && x.all_open(recording) &&
           y.all_open(recording);
  }
  static void each(auto& self, const auto& f) { f(self.left), f(self.right), f(self.x), f(self.y); }
  template <bool Needed, bool Anew>
  void write(B* k) const {
    ::new (static_cast<void*>(k)) B(chosen(B(1.0), B(0.0)));
    ::new (static_cast<void*>(k + 1)) B(chosen(B(0.0), B(1.0)));
  }
  template <bool Needed>
  static selection_expression read(const auto*, const std::uint32_t* i, const B* values) {
    const auto at = [&](unsigned which) { return leaf<B>(values[i[which]], {}); };
    return {at(0), at(1), at(2), at(3)};
  }
  template <bool Needed, bool Zero>
  static void back(const B* k, const std::uint32_t* i, const B& weight, auto& adjoints) {
    for (unsigned side = 0; side < 2; ++side)
      if (!is_zero(k[side])) adjoints.add(i[2 + side], times(weight, k[side]));
  }
  template <bool Needed>
  static B tangent(const B* k, const std::uint32_t* i, const B* tangents) {
    B sum(0.0);
    for (unsigned side = 0; side < 2; ++side)
      if (!is_zero(k[side])) add_to(sum, along(tangents[i[2 + side]], k[side]));
    return sum;
  }
  template <bool Needed>
  static constexpr unsigned list(step_writer& to) {
    to.skip(numbers<Needed>);
    for (unsigned which = 0; which < 4; ++which) to.put(step::operand, which, 0);
    to.put(operations::number_of<operations::choice<Comparison>>(), 0, 1);
    return to.put(operations::number_of<operations::selection>(), 2, 3);
  }
};

/// An independent variable that was made after other statements; it has no operands. Its block is not empty, so that chunks of such
/// statements fill up.
template <class B>
struct input : expression<input<B>> {
  using base_type = B;
  template <class T>
  using over = input<T>;
  static constexpr unsigned indices = 0, nodes = 0;
  template <bool Needed>
  static constexpr unsigned numbers = 1;

  static void each(const auto&, const auto&) {}
  template <bool Needed, bool Anew>
  void write(B*) const {}
  template <bool Needed>
  static constexpr unsigned list(step_writer&) {
    return 0;
  }
};

}  // namespace detail
}  // namespace corescale
