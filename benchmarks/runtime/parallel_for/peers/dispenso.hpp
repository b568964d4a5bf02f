// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dispenso/parallel_for.h>

#include "ranges.hpp"

/// The caller takes part, so the pool has one thread less.
struct contender {
  static constexpr const char* name = "dispenso";
  explicit contender(std::size_t threads) : pool(threads - 1), tasks(pool) {}
  dispenso::ThreadPool pool;
  dispenso::TaskSet tasks;

  template <class Loop>
  void run(dispenso::ParForChunking chunking) {
    dispenso::parallel_for(tasks, dispenso::makeChunkedRange(std::size_t{0}, Loop::n, chunking),
                           [](std::size_t begin, std::size_t end) { run_range<Loop>(begin, end); });
  }

  template <class Visit>
  static void ways(Visit visit) {
    visit("adaptive", []<class Loop>(contender& one) { one.run<Loop>(dispenso::ParForChunking::kAdaptive); });
    visit("static", []<class Loop>(contender& one) { one.run<Loop>(dispenso::ParForChunking::kStatic); });
  }
};
