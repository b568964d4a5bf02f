// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <parlay/parallel.h>

#include <cstdlib>
#include <string>

#include "ranges.hpp"

/// Its number of threads is read from the environment when its scheduler starts.
struct contender {
  static constexpr const char* name = "parlaylib";
  explicit contender(std::size_t threads) {
    setenv("PARLAY_NUM_THREADS", std::to_string(threads).c_str(), 1);
  }

  template <class Visit>
  static void ways(Visit visit) {
    visit("default", []<class Loop>(contender&) {
      parlay::parallel_for(0, num_blocks<Loop>, [](std::size_t block) { run_block<Loop>(block); });
    });
  }
};
