// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <mutex>
#include <utility>

#include "corescale/parallel_for/parallel_for.hpp"

namespace corescale::inline v0 {

/// How the parts of a reduction are combined.
enum class reduction {
  fastest,        ///< in the order in which they end: combine must be associative and commutative
  deterministic,  ///< always the same parts in the same order, for any number of threads: associative is enough
};

namespace detail {

/// The most parts of a deterministic reduction: a power of two, and four for each of 16 threads, so that they balance. More parts cost more
/// stack.
inline constexpr std::uint64_t most_parts = 64;

template <class Value, class Team, class First, class Last, class Body, class Combine>
Value reduce_in_order(Team& team, First first, Last last, const Value& identity, Body& body, Combine& combine,
                      loop_options options, source_place here) {
  using index = detail::index<First, Last>;
  const std::uint64_t n = distance(first, last);
  const std::uint64_t parts = std::min(n, most_parts);
  const auto begin_of = [&](std::uint64_t part) {
    return after<index>(first, n / most_parts * part + std::min(part, n % most_parts));
  };
  const auto values = [&]<std::size_t... i>(std::index_sequence<i...>) {
    return std::array<Value, most_parts>{((void)i, identity)...};
  };
  std::array<Value, most_parts> value = values(std::make_index_sequence<most_parts>());
  parallel_for(
      team, std::uint64_t{0}, parts,
      [&](std::uint64_t part) {
        Value sum = identity;
        for (index i = begin_of(part); i != begin_of(part + 1); ++i)
          sum = combine(std::move(sum), std::invoke(body, i));
        value[part] = std::move(sum);
      },
      options, here);
  Value all = identity;
  for (std::uint64_t part = 0; part < parts; ++part) all = combine(std::move(all), std::move(value[part]));
  return all;
}

template <class Value, class Team, class First, class Last, class Body, class Combine>
Value reduce_as_they_come(Team& team, First first, Last last, const Value& identity, Body& body,
                          Combine& combine, const loop_options& options, source_place here) {
  using index = detail::index<First, Last>;
  std::mutex one_at_a_time;
  Value all = identity;
  parallel_for_blocks(
      team, first, last,
      [&](index begin, index end) {
        Value sum = identity;
        for (index i = begin; i != end; ++i) sum = combine(std::move(sum), std::invoke(body, i));
        const std::scoped_lock lock(one_at_a_time);
        all = combine(std::move(all), std::move(sum));
      },
      options, here);
  return all;
}

}  // namespace detail

/// Combines identity and body(i) for each i in first .. last - 1, by combine(Value, Value), and returns the result. combine(identity, x)
/// must be x. `deterministic` gives bitwise the same value for any team, policy and run.
template <detail::loop_team Team, std::integral First, std::integral Last, class Value, class Body,
          class Combine>
requires std::invocable<Body&, detail::index<First, Last>> Value
parallel_reduce(Team& team, First first, Last last, Value identity, Body&& body, Combine&& combine,
                reduction how = reduction::fastest, const loop_options& options = {},
                detail::source_place here = detail::source_place::current()) {
  if (how == reduction::deterministic)
    return detail::reduce_in_order(team, first, last, identity, body, combine, options, here);
  return detail::reduce_as_they_come(team, first, last, identity, body, combine, options, here);
}

/// The same on default_team().
template <std::integral First, std::integral Last, class Value, class Body, class Combine>
requires std::invocable<Body&, detail::index<First, Last>> Value
parallel_reduce(First first, Last last, Value identity, Body&& body, Combine&& combine,
                reduction how = reduction::fastest, const loop_options& options = {},
                detail::source_place here = detail::source_place::current()) {
  return parallel_reduce(default_team(), first, last, std::move(identity), std::forward<Body>(body),
                         std::forward<Combine>(combine), how, options, here);
}

}  // namespace corescale
