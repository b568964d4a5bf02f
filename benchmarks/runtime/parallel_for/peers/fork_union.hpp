// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fork_union.hpp>

#include "ranges.hpp"

struct contender {
  static constexpr const char* name = "fork_union";
  explicit contender(std::size_t threads) { pool.try_spawn(threads); }
  ashvardanian::fork_union::basic_pool_t pool;

  template <class Visit>
  static void ways(Visit visit) {
    namespace fu = ashvardanian::fork_union;
    visit("slices", []<class Loop>(contender& one) {
      one.pool.for_slices(Loop::n, [](fu::prong_t first, std::size_t count) noexcept {
        run_range<Loop>(first.task, first.task + count);
      });
    });
    visit("dynamic", []<class Loop>(contender& one) {
      one.pool.for_n_dynamic(Loop::n, [](fu::prong_t one_of_n) noexcept { Loop::at(one_of_n.task); });
    });
  }
};
