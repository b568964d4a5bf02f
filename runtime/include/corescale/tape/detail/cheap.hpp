// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <type_traits>

namespace corescale::inline v0 {
template <class Base, std::size_t Order>
class series;
}

namespace corescale::inline v0::detail {

/// Whether arithmetic on T is a few instructions, which cost less than a call or branch around them. It is not if it records, sets a
/// rounding mode or allocates memory.
template <class T>
inline constexpr bool is_cheap = std::is_floating_point_v<T>;
template <class Base, std::size_t Order>
inline constexpr bool is_cheap<series<Base, Order>> = std::is_floating_point_v<Base>&& Order <= 3;

/// The type of a constant over T: a single coefficient.
template <class T>
struct coefficient {
  using type = T;
};
template <class Base, std::size_t Order>
struct coefficient<series<Base, Order>> {
  using type = Base;
};

}  // namespace corescale::inline v0::detail
