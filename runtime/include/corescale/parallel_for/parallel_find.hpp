// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <concepts>
#include <functional>

#include "corescale/parallel_for/parallel_for.hpp"

// A loop that ends early.
namespace corescale::inline v0 {

/// The lowest i of first .. last - 1 for which is_it(i) is true; last if there is none.
/// is_it is called exactly once for every i below the answer. Above the answer, blocks that have begun stop at their next i, and later
/// blocks do not begin. So a loop with early exit is a predicate that returns true if no later iteration needs to run.
template <detail::loop_team Team, std::integral First, std::integral Last, class Predicate>
requires std::predicate<Predicate&, detail::index<First, Last>> detail::index<First, Last> parallel_find(
    Team& team, First first, Last last, Predicate&& is_it, const loop_options& options = {},
    detail::source_place here = detail::source_place::current()) {
  using index = detail::index<First, Last>;
  std::atomic<index> found{static_cast<index>(last)};
  parallel_for_blocks(
      team, first, last,
      [&](index begin, index end) {
        for (index i = begin; i != end && i < found.load(std::memory_order_relaxed); ++i) {
          if (!std::invoke(is_it, i)) continue;
          index lowest = found.load(std::memory_order_relaxed);
          while (i < lowest && !found.compare_exchange_weak(lowest, i, std::memory_order_relaxed)) {
          }
          return;
        }
      },
      options, here);
  return found.load(std::memory_order_relaxed);
}

/// The same on default_team().
template <std::integral First, std::integral Last, class Predicate>
requires std::predicate<Predicate&, detail::index<First, Last>> detail::index<First, Last> parallel_find(
    First first, Last last, Predicate&& is_it, const loop_options& options = {},
    detail::source_place here = detail::source_place::current()) {
  return parallel_find(default_team(), first, last, std::forward<Predicate>(is_it), options, here);
}

}  // namespace corescale
