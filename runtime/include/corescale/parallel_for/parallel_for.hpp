// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <functional>
#include <iterator>
#include <ranges>

#include "corescale/parallel_for/block_policy.hpp"
#include "corescale/parallel_for/default_team.hpp"
#include "corescale/parallel_for/detail/loop.hpp"
#include "corescale/parallel_for/loop_options.hpp"

// Loops over the threads of a team; if none is named, over those of default_team().
//
// Every iteration runs exactly once, in an unspecified order, before the call returns. What it wrote is then visible to the caller. The
// calling thread takes part. No call allocates memory, except the first of a process, which reads the machine's topology. An iteration
// must not wait for another one. An iteration may run on any thread; even with the policy `static`, one share may run on several. It has
// that thread's rounding mode, priority and thread_local objects. But if the team has team_options::pin or on_thread_start, each share
// runs on one thread only. A body that throws ends the loop early: no further block is begun, and after all threads have ended the first
// exception leaves the call. Iterations that were not begun are not run. If the team cannot be used now, the whole loop runs on the
// calling thread. This happens in a loop nested in a loop of the same team (but see default_team()), on a thread that is not the team's
// master, in a child process that its owner forked, and with an empty any_team. first > last throws std::invalid_argument. Up to 2^64 - 1
// iterations; from 2^30 on, blocks are multiples of a power of two, so that there are fewer than 2^30 of them.

namespace corescale::inline v0 {

/// body(begin, end) for disjoint blocks that together are first .. last - 1: for bodies that share work between
/// neighbours, or that the compiler vectorises.
template <detail::loop_team Team, std::integral First, std::integral Last, class Body>
requires std::invocable<Body&, detail::index<First, Last>, detail::index<First, Last>>
void parallel_for_blocks(Team& team, First first, Last last, Body&& body, const loop_options& options = {},
                         detail::source_place here = detail::source_place::current()) {
  using index = detail::index<First, Last>;
  const auto block = [first, &body](std::uint64_t begin, std::uint64_t end) {
    std::invoke(body, detail::after<index>(first, begin), detail::after<index>(first, end));
  };
  detail::run_loop(detail::team_ref::to(team), detail::distance(first, last), block, options, here,
                   &detail::type_mark<Body>);
}

/// body(i) for each i in first .. last - 1.
template <detail::loop_team Team, std::integral First, std::integral Last, class Body>
requires std::invocable<Body&, detail::index<First, Last>>
void parallel_for(Team& team, First first, Last last, Body&& body, const loop_options& options = {},
                  detail::source_place here = detail::source_place::current()) {
  using index = detail::index<First, Last>;
  const auto block = [first, &body](std::uint64_t begin, std::uint64_t end) {
    // Counted in the type of the index: g++ vectorises no loop that converts its counter to a shorter type.
    const index stop = detail::after<index>(first, end);
    for (index i = detail::after<index>(first, begin); i != stop; ++i)
      std::invoke(body, static_cast<index>(i));
  };
  detail::run_loop(detail::team_ref::to(team), detail::distance(first, last), block, options, here,
                   &detail::type_mark<Body>);
}

/// body(row, column) for each row below `rows` and column below `columns`, as OpenMP's collapse(2). A block is a run of consecutive
/// pairs, row by row. rows * columns must be less than 2^64.
template <detail::loop_team Team, std::integral Rows, std::integral Columns, class Body>
requires std::invocable<Body&, Rows, Columns>
void parallel_for_2d(Team& team, Rows rows, Columns columns, Body&& body, const loop_options& options = {},
                     detail::source_place here = detail::source_place::current()) {
  const std::uint64_t width = detail::distance(Columns{0}, columns);
  const auto block = [width, &body](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t row = begin / width, column = begin % width; begin < end; ++row, column = 0) {
      const std::uint64_t stop = std::min(width, column + (end - begin));
      begin += stop - column;
      for (auto at = static_cast<Columns>(column); at != static_cast<Columns>(stop); ++at)
        std::invoke(body, static_cast<Rows>(row), static_cast<Columns>(at));
    }
  };
  detail::run_loop(detail::team_ref::to(team), detail::distance(Rows{0}, rows) * width, block, options, here,
                   &detail::type_mark<Body>);
}

/// body(*it) for each it in first .. last - 1, as std::for_each.
template <detail::loop_team Team, std::random_access_iterator Iterator, class Body>
requires std::invocable<Body&, std::iter_reference_t<Iterator>>
void parallel_for_each(Team& team, Iterator first, Iterator last, Body&& body,
                       const loop_options& options = {},
                       detail::source_place here = detail::source_place::current()) {
  using offset = std::iter_difference_t<Iterator>;
  const auto block = [first, &body](std::uint64_t begin, std::uint64_t end) {
    const Iterator stop = first + static_cast<offset>(end);
    for (Iterator it = first + static_cast<offset>(begin); it != stop; ++it) std::invoke(body, *it);
  };
  detail::run_loop(detail::team_ref::to(team), detail::steps(last - first), block, options, here,
                   &detail::type_mark<Body>);
}

/// body(element) for each element of a random-access range.
template <detail::loop_team Team, std::ranges::random_access_range Range, class Body>
requires std::ranges::sized_range<Range> && std::invocable<Body&, std::ranges::range_reference_t<Range>>
void parallel_for_each(Team& team, Range&& range, Body&& body, const loop_options& options = {},
                       detail::source_place here = detail::source_place::current()) {
  const auto first = std::ranges::begin(range);
  const auto last = first + static_cast<std::ranges::range_difference_t<Range>>(std::ranges::size(range));
  parallel_for_each(team, first, last, std::forward<Body>(body), options, here);
}

// The same on default_team().

template <std::integral First, std::integral Last, class Body>
requires std::invocable<Body&, detail::index<First, Last>, detail::index<First, Last>>
void parallel_for_blocks(First first, Last last, Body&& body, const loop_options& options = {},
                         detail::source_place here = detail::source_place::current()) {
  parallel_for_blocks(default_team(), first, last, std::forward<Body>(body), options, here);
}

template <std::integral First, std::integral Last, class Body>
requires std::invocable<Body&, detail::index<First, Last>>
void parallel_for(First first, Last last, Body&& body, const loop_options& options = {},
                  detail::source_place here = detail::source_place::current()) {
  parallel_for(default_team(), first, last, std::forward<Body>(body), options, here);
}

template <std::integral Rows, std::integral Columns, class Body>
requires std::invocable<Body&, Rows, Columns>
void parallel_for_2d(Rows rows, Columns columns, Body&& body, const loop_options& options = {},
                     detail::source_place here = detail::source_place::current()) {
  parallel_for_2d(default_team(), rows, columns, std::forward<Body>(body), options, here);
}

template <std::random_access_iterator Iterator, class Body>
requires std::invocable<Body&, std::iter_reference_t<Iterator>>
void parallel_for_each(Iterator first, Iterator last, Body&& body, const loop_options& options = {},
                       detail::source_place here = detail::source_place::current()) {
  parallel_for_each(default_team(), first, last, std::forward<Body>(body), options, here);
}

template <std::ranges::random_access_range Range, class Body>
requires std::ranges::sized_range<Range> && std::invocable<Body&, std::ranges::range_reference_t<Range>>
void parallel_for_each(Range&& range, Body&& body, const loop_options& options = {},
                       detail::source_place here = detail::source_place::current()) {
  parallel_for_each(default_team(), std::forward<Range>(range), std::forward<Body>(body), options, here);
}

}  // namespace corescale
