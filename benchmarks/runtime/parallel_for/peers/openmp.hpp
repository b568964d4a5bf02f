// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <omp.h>

#include <cstddef>

#include "ranges.hpp"

/// The OpenMP library of the compiler: libgomp with g++, libomp with clang++.
struct contender {
  static constexpr const char* name = OPENMP_NAME;
  explicit contender(std::size_t threads) : team(static_cast<int>(threads)) {}
  int team;

  template <class Visit>
  static void ways(Visit visit) {
    visit("static", []<class Loop>(contender& one) {
#pragma omp parallel for schedule(static) num_threads(one.team)
      for (std::size_t block = 0; block < num_blocks<Loop>; ++block) run_block<Loop>(block);
    });
    visit("dynamic", []<class Loop>(contender& one) {
#pragma omp parallel for schedule(dynamic) num_threads(one.team)
      for (std::size_t block = 0; block < num_blocks<Loop>; ++block) run_block<Loop>(block);
    });
    visit("guided", []<class Loop>(contender& one) {
#pragma omp parallel for schedule(guided) num_threads(one.team)
      for (std::size_t block = 0; block < num_blocks<Loop>; ++block) run_block<Loop>(block);
    });
  }
};
