// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <BS_thread_pool.hpp>

#include "ranges.hpp"

struct contender {
  static constexpr const char* name = "BS::thread_pool";
  explicit contender(std::size_t threads) : pool(threads) {}
  BS::thread_pool<> pool;

  template <class Visit>
  static void ways(Visit visit) {
    visit("blocks", []<class Loop>(contender& one) {
      one.pool
          .submit_blocks(std::size_t{0}, Loop::n,
                         [](std::size_t begin, std::size_t end) { run_range<Loop>(begin, end); })
          .wait();
    });
  }
};
