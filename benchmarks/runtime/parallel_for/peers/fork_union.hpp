// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fork_union.hpp>

#include "ranges.hpp"

/// FORK_UNION_WAIT is what its threads do between two looks: standard_yield_t by default, and x86_pause_t as its author tells for
/// short loops (README, "Efficient Busy Waiting"): they never sleep then.
struct contender {
  static constexpr const char* name = FORK_UNION_NAME;
  explicit contender(std::size_t threads) { pool.try_spawn(threads); }
  ashvardanian::fork_union::basic_pool<std::allocator<std::thread>, ashvardanian::fork_union::FORK_UNION_WAIT>
      pool;

  template <class Visit>
  static void ways(Visit visit) {
    namespace fu = ashvardanian::fork_union;
    visit("slices", []<class Loop>(contender& one) {
      one.pool.for_slices(Loop::n, [](fu::prong_t first, std::size_t count) noexcept {
        run_range<Loop>(first.task, first.task + count);
      });
    });
    visit("dynamic", []<class Loop>(contender& one) {
      one.pool.for_n_dynamic(num_blocks<Loop>,
                             [](fu::prong_t one_of_n) noexcept { run_block<Loop>(one_of_n.task); });
    });
  }
};
