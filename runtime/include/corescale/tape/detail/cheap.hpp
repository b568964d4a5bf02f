// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <type_traits>

namespace corescale::inline v0 {
template <class Base, std::size_t Order>
class series;
template <class Base>
class real;
}

namespace corescale::inline v0::detail {

/// Whether arithmetic on T is a few instructions, which cost less than a call or branch around them. False if arithmetic records, sets a
/// rounding mode or allocates memory.
template <class T>
inline constexpr bool is_cheap = std::is_floating_point_v<T>;
template <class Base, std::size_t Order>
inline constexpr bool is_cheap<series<Base, Order>> = std::is_floating_point_v<Base>&& Order <= 3;

/// The type of a number without derivatives over T; of(x) is that number, the first coefficient of x.
template <class T>
struct coefficient {
  using type = T;
  static const T& of(const T& x) { return x; }
};
template <class Base, std::size_t Order>
struct coefficient<series<Base, Order>> {
  using type = Base;
  static const Base& of(const series<Base, Order>& x) { return x[0]; }
};
template <class Base>
struct coefficient<real<Base>> {
  using type = typename coefficient<Base>::type;
  static const type& of(const real<Base>& x) { return coefficient<Base>::of(x.value()); }
};

}  // namespace corescale::inline v0::detail
