// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <type_traits>

#include "corescale/tape/real.hpp"

namespace corescale::inline v0 {
template <class Base, std::size_t Order>
class series;
}

/// What a reverse sweep asks of the type of its adjoints.
namespace corescale::inline v0::detail {

/// Whether an addition costs less than a branch around it: not where it records, rounds in some way or gets memory.
template <class T>
inline constexpr bool adds_cheaply = std::is_floating_point_v<T>;
template <class Base, std::size_t Order>
inline constexpr bool adds_cheaply<series<Base, Order>> = std::is_floating_point_v<Base>&& Order <= 3;

/// Whether x is 0 and stays 0: such an adjoint is not handed on. It saves work, and lets a selection that
/// took the other side ignore an infinite derivative.
template <class T>
bool is_zero(const T& x) {
  return x == T(0.0);
}

template <class Base>
bool is_zero(const real<Base>& x) {
  return !x.is_variable() && is_zero(x.value());
}

/// sum += weight * partial.
template <class T>
[[gnu::always_inline]] inline void add_product(T& sum, const T& weight, const T& partial) {
  sum += weight * partial;
}

/// As above, but what is known to be 0 or 1 is not recorded again.
template <class Base>
void add_product(real<Base>& sum, const real<Base>& weight, const real<Base>& partial) {
  if (is_zero(partial)) return;
  const bool is_one = !partial.is_variable() && is_zero(partial.value() - Base(1.0));
  const real<Base> product = is_one ? weight : weight * partial;
  sum = is_zero(sum) ? product : sum + product;
}

}  // namespace corescale::detail
