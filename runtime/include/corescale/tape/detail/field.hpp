// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "corescale/tape/detail/cheap.hpp"
#include "corescale/tape/real.hpp"

/// What a reverse sweep asks of the type of its adjoints.
namespace corescale::inline v0::detail {

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
