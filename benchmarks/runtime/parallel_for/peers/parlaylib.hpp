// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <parlay/parallel.h>

#include <cstdlib>
#include <string>

#include "ranges.hpp"

/// Its number of threads is read from the environment when its scheduler starts. Its range form is blocked_for, whose block its users choose.
struct contender {
  static constexpr const char* name = "parlaylib";
  explicit contender(std::size_t threads) {
    setenv("PARLAY_NUM_THREADS", std::to_string(threads).c_str(), 1);
  }

  template <class Visit>
  static void ways(Visit visit) {
    visit("default", []<class Loop>(contender&) {
      if constexpr (has_range<Loop>)
        parlay::blocked_for(0, Loop::n, by_hand<Loop>,
                            [](std::size_t, std::size_t begin, std::size_t end) { Loop::range(begin, end); });
      else
        parlay::parallel_for(0, Loop::n, [](std::size_t i) { Loop::at(i); });
    });
  }
};
