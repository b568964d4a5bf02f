// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <utility>

#include "corescale/tape/detail/sweeps.hpp"
#include "corescale/tape/series.hpp"

namespace corescale::inline v0::detail {

/// sum += weight, or sum -= weight.
template <bool Subtract, class T>
void add_adjoint(T& sum, const T& weight) {
  if constexpr (Subtract) {
    sum -= weight;
  } else {
    sum += weight;
  }
}

/// Hands the adjoint of one operation on, by partial derivatives in the arithmetic of T: those of a Taylor
/// series are series, too, and give the derivatives of all its coefficients (Griewank and Walther, Evaluating
/// Derivatives, section 13.3).
template <class Row, class Base, class T>
void go_back(const evaluation<Base, T>& at, T* adjoints, recorded_operation<Base> one, std::uint32_t i) {
  const std::uint32_t x = one.x(), y = one.y();
  const bool x_varies = x >= parameter_slots, y_varies = y >= parameter_slots;
  const T& weight = adjoints[i];
  constexpr unsigned op = operations::number_of<Row>();
  if constexpr (operations::is_linear(op)) {
    if (x_varies) add_adjoint<std::is_same_v<Row, operations::negate>>(adjoints[x], weight);
    if (y_varies) add_adjoint<operations::is_difference(op)>(adjoints[y], weight);
  } else if constexpr (std::is_same_v<Row, operations::multiply>) {
    adjoints[x] += weight * at.values[y];
    adjoints[y] += weight * at.values[x];
  } else if constexpr (std::is_same_v<Row, operations::with_parameter<operations::multiply>>) {
    adjoints[x] += weight * one.kept[0];
  } else if constexpr (operations::unary<Row>) {
    adjoints[x] += weight * T(Row::dx(at.values[x], at.values[i]));
  } else if constexpr (operations::binary<Row>) {
    const auto hand_on = [&](std::uint32_t to, const T& partial) {
      if (!operations::picks(op) || !is_zero(partial)) adjoints[to] += weight * partial;
    };
    if (x_varies) hand_on(x, T(Row::dx(at.values[x], at.y(one), at.values[i])));
    if (y_varies) hand_on(y, T(Row::dy(at.x(one), at.values[y], at.values[i])));
  } else if constexpr (std::is_same_v<Row, operations::selection>) {
    const bool first = !is_zero(at.values[i - 1]);
    if (first ? x_varies : y_varies) adjoints[first ? x : y] += weight;
  }
}

/// go_back(), by number of operation.
template <class Base, class T>
inline constexpr auto ways_back = []<std::size_t... Place>(std::index_sequence<Place...>) {
  using step = void (*)(const evaluation<Base, T>&, T*, recorded_operation<Base>, std::uint32_t);
  return std::array<step, sizeof...(Place)>{
      &go_back<std::tuple_element_t<Place, operations::table>, Base, T>...};
}
(std::make_index_sequence<operations::count>());

/// The reverse sweep over values of a forward_sweep() in T; sums and products, which most operations are, without a call.
/// adjoints: of all variables; the caller has set those that it starts from.
template <class Base, class Alloc, class T>
void reverse_sweep(const operation_list<Base, Alloc>& operations, T* values, T* adjoints) {
  const evaluation<Base, T> at{values};
  for_each_operation_back(operations, index_mask, [&](recorded_operation<Base> one, std::size_t place) {
    const auto i = static_cast<std::uint32_t>(place);
    const auto kept = operations::kept[one.op()];
    if (is_zero(adjoints[i])) return kept;
    if (operations::is_sum(one.op())) {
      go_back<operations::add>(at, adjoints, one, i);
    } else if (one.op() == operations::number_of<operations::multiply>()) {
      go_back<operations::multiply>(at, adjoints, one, i);
    } else if (one.op() == operations::number_of<operations::with_parameter<operations::multiply>>()) {
      go_back<operations::with_parameter<operations::multiply>>(at, adjoints, one, i);
    } else {
      ways_back<Base, T>[one.op()](at, adjoints, one, i);
    }
    return kept;
  });
}

}  // namespace corescale::detail
