// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "corescale/parallel_for/detail/run_loop.hpp"

namespace corescale::inline v0::detail {

/// What a loop from a First to a Last counts in.
template <class First, class Last>
using index = std::common_type_t<First, Last>;

/// last - first of any two integers; throws std::invalid_argument where that is negative.
template <std::integral First, std::integral Last>
std::uint64_t distance(First first, Last last) {
  if (std::cmp_greater(first, last)) [[unlikely]]
    throw std::invalid_argument("parallel_for: the range is reversed, from " + std::to_string(first) +
                                " to " + std::to_string(last) + "; first must not be greater than last");
  return static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(first);
}

/// The index that comes i after `first`; in unsigned arithmetic, so that nothing overflows on the way.
template <class Index, class First>
Index after(First first, std::uint64_t i) noexcept {
  return static_cast<Index>(static_cast<std::uint64_t>(first) + i);
}

/// A team of any type that a loop can be run on.
template <class Team>
concept loop_team = !std::integral<Team> && requires(Team & team, worker_ref worker) {
  { team.num_threads() } -> std::convertible_to<std::size_t>;
  team.work(std::size_t{1}, worker);
};

}  // namespace corescale::detail
