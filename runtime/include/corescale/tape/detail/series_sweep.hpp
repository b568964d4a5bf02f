// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <utility>

#include "corescale/tape/detail/sweeps.hpp"
#include "corescale/tape/series.hpp"

namespace corescale::inline v0::detail {

/// Hands the adjoint of one operation on, by partial derivatives in the arithmetic of T: those of a Taylor
/// series are series, too, and give the derivatives of all its coefficients (Griewank and Walther, Evaluating
/// Derivatives, section 13.3).
template <class Row, class Base, class T>
void go_back(const evaluation<Base, T>& at, T* adjoints, recorded_operation<Base> one, std::uint32_t i) {
  const std::uint32_t x = one.x(), y = one.y();
  const bool x_varies = x >= parameter_slots, y_varies = y >= parameter_slots;
  const T& weight = adjoints[i];
  if constexpr (operations::unary<Row>) {
    adjoints[x] += weight * T(Row::dx(at.values[x], at.values[i]));
  } else if constexpr (operations::binary<Row>) {
    const auto hand_on = [&](std::uint32_t to, const T& partial) {
      if (!operations::picks(operations::number_of<Row>()) || !is_zero(partial))
        adjoints[to] += weight * partial;
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

/// The reverse sweep over values of a forward_sweep() in T. adjoints: of all variables; the caller has set those
/// that it starts from.
template <class Base, class Alloc, class T>
void reverse_sweep(const operation_list<Base, Alloc>& operations, T* values, T* adjoints) {
  const evaluation<Base, T> at{values};
  for_each_operation_back(operations, index_mask, [&](recorded_operation<Base> one, std::size_t i) {
    if (!is_zero(adjoints[i])) ways_back<Base, T>[one.op()](at, adjoints, one, static_cast<std::uint32_t>(i));
    return operations::kept[one.op()];
  });
}

}  // namespace corescale::detail
