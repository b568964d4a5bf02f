// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "corescale/parallel_for/parallel_for.hpp"

namespace corescale::inline v0 {

/// An inclusive scan: calls put(i, value) for each i in first .. last - 1, where value combines identity and body(first) .. body(i).
/// Returns the value of last - 1, or identity if there is none. combine must be associative; combine(identity, x) must be x.
/// The range is divided into T + 1 parts for T threads. The first part is put at once, the last is not summed beforehand, and the others
/// are read twice. So a scan takes 2 / (T + 1) of the serial time. body(i) is called once or twice. Allocates a Value for each thread.
template <detail::loop_team Team, std::integral First, std::integral Last, class Value, class Body,
          class Combine, class Put>
requires std::invocable<Body&, detail::index<First, Last>> Value
parallel_scan(Team& team, First first, Last last, Value identity, Body&& body, Combine&& combine, Put&& put,
              const loop_options& options = {}, detail::source_place here = detail::source_place::current()) {
  using index = detail::index<First, Last>;
  const std::uint64_t n = detail::distance(first, last);
  const std::uint64_t parts = std::min<std::uint64_t>(team.num_threads() + 1, n);
  if (parts == 0) return identity;
  const auto begin_of = [&](std::uint64_t part) {
    return detail::after<index>(first, n / parts * part + std::min(part, n % parts));
  };
  struct place {  // a plain vector<bool> would share bytes between threads
    Value value;
  };
  std::vector<place> before(parts + 1, place{identity});  // each part's sum is stored at the next part
  const auto run = [&](std::uint64_t part, Value sum, bool puts) {
    for (index i = begin_of(part); i != begin_of(part + 1); ++i) {
      sum = combine(std::move(sum), std::invoke(body, i));
      if (puts) std::invoke(put, i, std::as_const(sum));
    }
    return sum;
  };
  parallel_for(
      team, std::uint64_t{0}, std::max<std::uint64_t>(parts - 1, 1),
      [&](std::uint64_t part) { before[part + 1].value = run(part, identity, part == 0); }, options, here);
  for (std::uint64_t part = 2; part < parts; ++part)
    before[part].value = combine(before[part - 1].value, std::move(before[part].value));
  parallel_for(
      team, std::uint64_t{1}, parts,
      [&](std::uint64_t part) {
        Value sum = run(part, before[part].value, true);
        if (part + 1 == parts) before[parts].value = std::move(sum);
      },
      options, here);
  return std::move(before[parts].value);
}

/// The same on default_team().
template <std::integral First, std::integral Last, class Value, class Body, class Combine, class Put>
requires std::invocable<Body&, detail::index<First, Last>> Value
parallel_scan(First first, Last last, Value identity, Body&& body, Combine&& combine, Put&& put,
              const loop_options& options = {}, detail::source_place here = detail::source_place::current()) {
  return parallel_scan(default_team(), first, last, std::move(identity), std::forward<Body>(body),
                       std::forward<Combine>(combine), std::forward<Put>(put), options, here);
}

}  // namespace corescale
