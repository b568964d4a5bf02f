// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <thread>
#include <vector>

#include "ranges.hpp"

/// No library: threads are made for each loop, and joined.
struct contender {
  static constexpr const char* name = "std::thread";
  explicit contender(std::size_t threads) : team(threads) {}
  std::size_t team;

  template <class Visit>
  static void ways(Visit visit) {
    visit("slices", []<class Loop>(contender& one) {
      const auto part = [&](std::size_t k) {
        run_range<Loop>(Loop::n * k / one.team, Loop::n * (k + 1) / one.team);
      };
      std::vector<std::jthread> made;
      for (std::size_t k = 1; k < one.team; ++k) made.emplace_back(part, k);
      part(0);
    });
  }
};
