// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "corescale/tape/detail/field.hpp"
#include "corescale/tape/detail/operation_list.hpp"

namespace corescale::detail {

/// From operation `last` back to the first: each hands its adjoint, times its recorded partial derivatives,
/// on to its operands. adjoints[0 .. last]; the caller has set those that it starts from.
template <class Base, class Alloc>
void reverse_sweep(const operation_list<Base, Alloc>& operations, std::uint32_t last, Base* adjoints) {
  for (auto* chunk = operations.last(); chunk; chunk = chunk->before) {
    if (chunk->first > last) continue;
    const std::uint32_t from = std::min(last, chunk->first + chunk->size - 1);
    const operation<Base>* one = chunk->operations() + (from - chunk->first);
    for (std::uint32_t i = from + 1; i-- > chunk->first; --one) {
      const Base weight = adjoints[i];
      if (is_zero(weight)) continue;
      hand_on(adjoints, x_of(one->code), weight, one->dx);
      hand_on(adjoints, y_of(one->code), weight, one->dy);
    }
  }
}

}  // namespace corescale::detail
