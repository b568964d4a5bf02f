// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tuple>
#include <type_traits>

#include "corescale/tape/detail/statement.hpp"

// The operators and functions of a real make an expression or a statement of their operands.
namespace corescale::inline v0::detail {

/// Access to the parts of a number that only the tape uses.
struct inside {
  template <class B>
  [[gnu::always_inline]] static place place_of(const real<B>& x) {
    return x.place_;
  }
  template <class B>
  static real<B> variable(const B& value, place at) {
    return {value, at};
  }
};

// --- which operands go together ---

template <class T>
concept recorded = an_expression<T> || records<T>;

/// Whether T is recorded over B, or becomes a constant of it.
template <class T, class B>
inline constexpr bool fits = std::is_convertible_v<T, B>;
template <recorded T, class B>
inline constexpr bool fits<T, B> = std::is_same_v<typename T::base_type, B> || std::is_convertible_v<T, B>;

/// The Base of the first operand that all other operands can be converted to.
template <class All, class... T>
struct common {};
template <class... All, class First, class... Rest>
struct common<std::tuple<All...>, First, Rest...> : common<std::tuple<All...>, Rest...> {};
template <class... All, recorded First, class... Rest>
requires(fits<All, typename First::base_type>&&...) struct common<std::tuple<All...>, First, Rest...> {
  using base = typename First::base_type;
};
template <class... T>
using common_base = typename common<std::tuple<T...>, T...>::base;
template <class... T>
concept operands = requires {
  typename common_base<T...>;
};

// --- what operators and functions do ---

template <class B>
[[gnu::always_inline]] inline leaf<B> leaf_of(const real<B>& x) {
  return {x.value(), inside::place_of(x)};
}

template <class B, class T>
[[gnu::always_inline]] inline decltype(auto) node_of(const T& x) {
  if constexpr (std::is_same_v<T, real<B>>) {
    return leaf_of(x);
  } else if constexpr (an_expression<T>) {
    return (x);
  } else if constexpr (std::is_arithmetic_v<T>) {
    using number = typename coefficient<B>::type;
    return constant<B, number>(static_cast<number>(x));
  } else {
    return constant<B>(real<B>(x).value());
  }
}

template <class Row, class X>
[[gnu::always_inline]] inline unary_expression<Row, X> join(const X& x) {
  return unary_expression<Row, X>(x);
}
template <class Row, class X, class Y>
[[gnu::always_inline]] inline binary_expression<Row, X, Y> join(const X& x, const Y& y) {
  return {x, y};
}

/// f(x, y), where at least one operand is a variable, and a parameter is passed as a constant.
template <class B, class F>
auto with_constants(const real<B>& x, const real<B>& y, F f) {
  if (!x.is_variable()) return f(constant<B>(x.value()), leaf_of(y));
  if (!y.is_variable()) return f(leaf_of(x), constant<B>(y.value()));
  return f(leaf_of(x), leaf_of(y));
}

/// An operation as a statement of its own, compiled once as a function: each operation of expensive arithmetic, and each function over a
/// recorded type. The code of the latter's derivative is recorded too; inlined, it would be in the program at each call.
template <class Row, class B>
[[gnu::noinline]] real<B> immediate(const real<B>& x) {
  if (!x.is_variable()) return real<B>(static_cast<B>(Row::value(x.value())));
  return join<Row>(leaf_of(x));
}
template <class Row, class B>
[[gnu::noinline]] real<B> immediate(const real<B>& x, const real<B>& y) {
  if (!x.is_variable() && !y.is_variable()) return real<B>(static_cast<B>(Row::value(x.value(), y.value())));
  return with_constants(x, y, [](const auto& a, const auto& b) { return real<B>(join<Row>(a, b)); });
}

/// A row of the table of operations, applied.
template <class Row, class... T>
[[gnu::always_inline]] inline auto apply(const T&... operand) {
  using B = common_base<T...>;
  if constexpr (is_cheap<B> || (records<B> && operations::is_arithmetic<Row>)) {
    return join<Row>(node_of<B>(operand)...);
  } else {
    return immediate<Row, B>(operand...);
  }
}

/// Records a comparison. A later evaluation must find the same outcome.
template <class Comparison, class B>
bool decide(const real<B>& x, const real<B>& y) {
  const bool outcome = Comparison::holds(x.value(), y.value());
  if (!x.is_variable() && !y.is_variable()) return outcome;
  with_constants(x, y, [outcome](const auto& a, const auto& b) {
    return outcome ? record(join<operations::branch<Comparison, true>>(a, b))
                   : record(join<operations::branch<Comparison, false>>(a, b));
  });
  return outcome;
}

/// The selection `left compared to right ? x : y`, decided anew at each evaluation.
template <class Comparison, class B>
real<B> select(const real<B>& left, const real<B>& right, const real<B>& x, const real<B>& y) {
  if (!left.is_variable() && !right.is_variable()) {
    if constexpr (!records<B>) return Comparison::holds(left.value(), right.value()) ? x : y;
    if (!x.is_variable() && !y.is_variable())
      return choose(Comparison(), left.value(), right.value(), x.value(), y.value());
  }
  return selection_expression<Comparison, B>(leaf_of(left), leaf_of(right), leaf_of(x), leaf_of(y));
}

}  // namespace corescale::detail

namespace corescale::inline v0::operations {

template <class Comparison, class Base>
real<Base> choose(Comparison, const real<Base>& left, const real<Base>& right, const real<Base>& x,
                  const real<Base>& y) {
  return detail::select<Comparison>(left, right, x, y);
}

}  // namespace corescale::operations
