// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <taskflow/taskflow.hpp>
#if __has_include(<taskflow/algorithm/for_each.hpp>)  // 3.2 has its algorithms in the header above
#include <taskflow/algorithm/for_each.hpp>
#endif

#include "ranges.hpp"

/// for_each_index, and for_each_by_index where it is there and the body takes a range, with their default, the guided partitioner of Taskflow,
/// over all of its workers: the caller only waits.
struct contender {
  static constexpr const char* name = TASKFLOW_NAME;
  explicit contender(std::size_t threads) : executor(threads) {}
  tf::Executor executor;

  template <class Loop>
  void run() {
    static tf::Taskflow flow;
    static const auto task = loop_in<Loop>(flow);
    executor.run(flow).wait();
  }

  template <class Loop>
  static tf::Task loop_in(tf::Taskflow& flow) {
#if TF_MAJOR_VERSION >= 4
    if constexpr (has_range<Loop>)
      return flow.for_each_by_index(
          tf::IndexRange<std::size_t>(0, Loop::n, 1),
          [](const tf::IndexRange<std::size_t>& part) { Loop::range(part.begin(), part.end()); });
#endif
    return flow.for_each_index(std::size_t{0}, num_blocks<Loop>, std::size_t{1},
                               [](std::size_t block) { run_block<Loop>(block); });
  }

  template <class Visit>
  static void ways(Visit visit) {
    visit("guided", []<class Loop>(contender& one) { one.run<Loop>(); });
  }
};
