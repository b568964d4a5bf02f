// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "corescale/parallel_for/parallel_for.hpp"
#include "corescale/team/spin.hpp"

/// The default, every other policy, and fixed blocks of many sizes: the best of them is the mark for the default.
struct contender {
  static constexpr const char* name = "corescale";
  explicit contender(std::size_t threads) : team(corescale::spin_team::create(threads)) {}
  std::unique_ptr<corescale::spin_team> team;

  template <class Loop>
  void run(const corescale::loop_options& options) {
    if constexpr (requires { Loop::range(0, 0); }) {
      corescale::parallel_for_blocks(*team, std::size_t{0}, Loop::n, Loop::range, options);
    } else {
      corescale::parallel_for(
          *team, std::size_t{0}, Loop::n, [](std::size_t i) { Loop::at(i); }, options);
    }
  }

  /// Blocks of one iteration, as `fixed 1`, but from a counter of each thread's own: what a claim costs without the
  /// line's travel.
  static corescale::loop_plan counter_each(const corescale::loop_description& loop) {
    return {.threads = loop.threads, .counters = loop.threads, .steal = true};
  }

  template <class Visit>
  static void ways(Visit visit) {
    for (const corescale::block_policy& policy : corescale::block_policies())
      if (!policy.needs_block)
        visit(policy.name.data(),
              [&policy]<class Loop>(contender& one) { one.run<Loop>({.policy = &policy}); });
    static const corescale::block_policy each{"a counter each, block 1", "", counter_each};
    visit(each.name.data(), []<class Loop>(contender& one) { one.run<Loop>({.policy = &each}); });
    for (std::uint64_t block = 1; block <= 1U << 19; block *= 4)
      visit(("fixed " + std::to_string(block)).c_str(), [block]<class Loop>(contender& one) {
        if (block < 2 * Loop::n) one.run<Loop>({.block = block});
      });
  }
};
