// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <tuple>
#include <type_traits>

#include "corescale/tape/detail/expressions.hpp"

// How an expression is recorded, and what a recorded one does in a sweep.
namespace corescale::inline v0::detail {

/// Statements of one type, and the functions of their kind.
template <class E>
struct statement {
  using base = typename E::base_type;
  static constexpr unsigned numbers = E::template numbers<false>;
  static constexpr std::size_t alignment = std::max(alignof(base), alignof(std::uint32_t));
  static constexpr std::size_t bytes =
      (numbers * sizeof(base) + E::indices * sizeof(std::uint32_t) + alignment - 1) / alignment * alignment;
  static_assert(numbers < step::constant && E::nodes < step::constant,
                "a statement has at most 65,533 operations");

  static base* numbers_in(std::byte* block) { return reinterpret_cast<base*>(block); }
  static const base* numbers_in(const std::byte* block) { return reinterpret_cast<const base*>(block); }
  static const std::uint32_t* operands_in(const std::byte* block) {
    return reinterpret_cast<const std::uint32_t*>(block + numbers * sizeof(base));
  }

  static const std::byte* back(const std::byte* block, base* __restrict adjoints, std::size_t i,
                               std::size_t count) {
    if constexpr (E::indices > 0) {
      for (; count > 0; --count, --i, block += bytes) {
        const base weight = adjoints[i];
        if (!is_zero(weight))
          E::template back<false, false>(numbers_in(block), operands_in(block), weight, adjoints);
      }
    }
    return block + bytes * count;
  }

  static void forward(std::byte* block, base* values, std::size_t i, std::size_t count) {
    if constexpr (E::nodes > 0) {
      for (; count > 0; --count, ++i, block -= bytes) {
        const E e = E::template read<false>(numbers_in(block), operands_in(block), values);
        if constexpr (requires { requires E::decides; }) {
          e.require_outcome(i);
        } else {
          values[i] = e.z;
          e.template write<false, true>(numbers_in(block));
        }
      }
    }
  }

  static void tangent(const std::byte* block, base* tangents, std::size_t i, std::size_t count) {
    if constexpr (E::indices > 0) {
      for (; count > 0; --count, ++i, block -= bytes)
        tangents[i] = E::template tangent<false>(numbers_in(block), operands_in(block), tangents);
    }
  }

  static constexpr auto steps = [] {
    std::array<step, std::max(1U, E::nodes)> all{};
    step_writer to{all.data()};
    E::template list<false>(to);
    return all;
  }();
};

template <class E>
inline constexpr kind<typename E::base_type> kind_of{&statement<E>::back,       &statement<E>::forward,
                                                     &statement<E>::tangent,    statement<E>::bytes,
                                                     statement<E>::numbers,     E::nodes,
                                                     statement<E>::steps.data()};

template <class E>
[[gnu::always_inline]] inline place append(recorder<typename E::base_type>& tape, const E& e);

/// These take and return everything in registers, or pass it by the stack. If they returned into the middle of append(), the fast
/// path would keep its numbers in memory.
template <class E>
[[gnu::noinline, gnu::cold]] place append_with_room(E e) {
  auto& tape = *open_recording<typename E::base_type>;
  tape.grow(tape, statement<E>::bytes);
  return append(tape, e);
}

/// Some leaves are parameters, which are recorded first, or of another recording.
template <class E>
[[gnu::noinline]] place append_mixed(E e) {
  using base = typename E::base_type;
  auto& tape = *open_recording<base>;
  E::each(e, [&](const leaf<base>& one) {
    if (one.at.recording != parameter && one.at.recording != tape.recording())
      throw_not_open(one.at.recording, tape.recording());
  });
  E::each(e, [&](leaf<base>& one) {
    if (one.at.recording == parameter) one.at = append(tape, constant<base>(one.z));
  });
  return append(tape, e);
}

/// Appends a statement all of whose variables are of the open recording; returns the place of its result.
template <class E>
[[gnu::always_inline]] inline place append(recorder<typename E::base_type>& tape, const E& e) {
  using base = typename E::base_type;
  constexpr std::size_t bytes = statement<E>::bytes;
  if (tape.block < reinterpret_cast<std::uintptr_t>(tape.latest) + 2 * sizeof(run<base>) + bytes) [[unlikely]]
    return append_with_room(e);
  const std::uintptr_t block = tape.block - bytes;
  if (tape.latest->of != &kind_of<E>)
    tape.latest = ::new (static_cast<void*>(tape.latest + 1)) run<base>{&kind_of<E>, tape.index};
  // NOLINTBEGIN(performance-no-int-to-ptr): it is compared with where a room ends, of which there may be none
  auto* const numbers = reinterpret_cast<base*>(block);
  auto* to = reinterpret_cast<std::uint32_t*>(block + statement<E>::numbers * sizeof(base));
  // NOLINTEND(performance-no-int-to-ptr)
  e.template write<false, false>(numbers);
  E::each(
      e, [&](const leaf<base>& one) __attribute__((always_inline)) {
        ::new (static_cast<void*>(to++)) std::uint32_t(one.at.index);
      });
  tape.block = block;
  return {tape.recording(), tape.index++};
}

/// Records an expression, unless nothing but parameters enters it.
template <class E>
[[gnu::always_inline]] inline place record(const E& e) {
  auto& tape = *open_recording<typename E::base_type>;
  if (e.all_open(tape.recording())) [[likely]]
    return append(tape, e);
  bool varies = false;
  E::each(e, [&](const auto& one) { varies = varies || one.at.recording != parameter; });
  return varies ? append_mixed(e) : place{};
}

/// What of a number only the tape sees.
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

/// The Base of the first of the operands that all fit.
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

/// f of both, of which one is a variable: a parameter as a constant.
template <class B, class F>
auto with_constants(const real<B>& x, const real<B>& y, F f) {
  if (!x.is_variable()) return f(constant<B>(x.value()), leaf_of(y));
  if (!y.is_variable()) return f(leaf_of(x), constant<B>(y.value()));
  return f(leaf_of(x), leaf_of(y));
}

/// Where arithmetic is expensive each operation is a statement and a function of its own. Else each operator of a recorded type over a
/// recorded type would contain all of the recording of the inner one.
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
  if constexpr (is_cheap<B>) {
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
