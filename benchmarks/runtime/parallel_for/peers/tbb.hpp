// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>
#include <tbb/task_arena.h>

#include "ranges.hpp"

struct contender {
  static constexpr const char* name = "oneTBB";
  explicit contender(std::size_t threads)
      : limit(tbb::global_control::max_allowed_parallelism, threads), arena(static_cast<int>(threads)) {}
  tbb::global_control limit;
  tbb::task_arena arena;

  template <class Loop, class Partitioner>
  void run(const Partitioner& partitioner) {
    arena.execute([&] {
      tbb::parallel_for(
          tbb::blocked_range<std::size_t>(0, Loop::n),
          [](const auto& block) { run_range<Loop>(block.begin(), block.end()); }, partitioner);
    });
  }

  template <class Visit>
  static void ways(Visit visit) {
    visit("auto", []<class Loop>(contender& one) { one.run<Loop>(tbb::auto_partitioner()); });
    visit("static", []<class Loop>(contender& one) { one.run<Loop>(tbb::static_partitioner()); });
    visit("simple", []<class Loop>(contender& one) { one.run<Loop>(tbb::simple_partitioner()); });
  }
};
