// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "corescale/tape/detail/field.hpp"
#include "corescale/tape/detail/operation_list.hpp"

namespace corescale::inline v0::detail {

/// adjoints[of] += weight * partial, where `of` may be "no variable". Returns the sum.
template <class T>
[[gnu::always_inline]] inline T hand_on(T* adjoints, std::uint32_t of, const T& weight, const T& partial) {
  if constexpr (!is_cheap<T>) {
    if (of < parameter_slots) return T(0.0);
  }
  add_product(adjoints[of], weight, partial);
  return adjoints[of];
}

/// From operation `last` back to the first: each hands its adjoint, times its recorded partial derivatives,
/// on to its operands. adjoints[0 .. last]; the caller has set those that it starts from.
///
/// Often the operation before is an operand, and its adjoint was written just now: it is then taken from the
/// register and not from memory, which would wait for the store. On Zen 4 that is a third of the sweep. A sum or difference hands
/// its adjoint on as it is: a multiplication by 1 would be waited for, too.
template <class Base, class Alloc>
void reverse_sweep(const operation_list<Base, Alloc>& operations, std::uint32_t last, Base* adjoints) {
  Base weight = adjoints[last];
  for_each_operation_back(
      operations, last, [&](recorded_operation<Base> one, std::uint32_t i) __attribute__((always_inline)) {
        if (is_zero(weight)) {
          weight = adjoints[i - 1];
          return;
        }
        const std::uint32_t x = one.x(), y = one.y();
        const unsigned op = one.op();
        Base x_sum, y_sum;
        if (is_cheap<Base> && operations::is_sum(op)) {
          x_sum = adjoints[x] += weight;
          y_sum = adjoints[y] += weight;
        } else if (is_cheap<Base> && operations::is_linear(op)) {
          x_sum = adjoints[x] += op == operations::number_of<operations::negate>() ? -weight : weight;
          y_sum = adjoints[y] -= weight;
        } else if (operations::picks(op)) {
          x_sum = is_zero(one.dx()) ? adjoints[x] : hand_on(adjoints, x, weight, one.dx());
          y_sum = is_zero(one.dy()) ? adjoints[y] : hand_on(adjoints, y, weight, one.dy());
        } else {
          x_sum = hand_on(adjoints, x, weight, one.dx());
          y_sum = hand_on(adjoints, y, weight, one.dy());
        }
        if (y == i - 1) {
          weight = y_sum;
        } else if (x == i - 1) {
          weight = x_sum;
        } else {
          weight = adjoints[i - 1];
        }
      });
}

}  // namespace corescale::detail
