// SPDX-License-Identifier: Apache-2.0
#include "unit_task/taskflow.hpp"

#include "driver/error.hpp"

#ifdef UNIT_TASK_HAS_TASKFLOW
#include <atomic>
#include <taskflow/taskflow.hpp>
#include <vector>
#if __has_include(<taskflow/algorithm/for_each.hpp>)  // 3.2 has its algorithms in the header above
#include <taskflow/algorithm/for_each.hpp>
#endif

#include "unit_task/task_loop.hpp"
#endif

namespace unit_task {

#ifdef UNIT_TASK_HAS_TASKFLOW

struct TaskflowLoop::Pool {
  struct alignas(corescale::cache_line) Count {
    std::uint64_t iterations = 0;
  };

  Pool(Loop& loop, std::size_t threads) : counts(threads), executor(threads) {
    flow.for_each_index(std::uint64_t{0}, loop.size(), std::uint64_t{1}, [this, &loop](std::uint64_t i) {
      thread_local const bool numbered = (other_pools_thread = numbers++, true);
      if (numbered) ++counts.at(other_pools_thread).iterations;
      loop.run(i, i + 1);
    });
  }

  std::atomic<std::size_t> numbers{0};
  std::vector<Count> counts;
  tf::Taskflow flow;
  tf::Executor executor;  // last: its threads end before what they use
};

std::string TaskflowLoop::version() {
  return "Taskflow " + std::to_string(TF_VERSION / 100000) + "." + std::to_string(TF_VERSION / 100 % 1000);
}

TaskflowLoop::TaskflowLoop(Loop& loop, std::size_t threads) : pool_(std::make_unique<Pool>(loop, threads)) {}

void TaskflowLoop::call() { pool_->executor.run(pool_->flow).wait(); }

std::uint64_t TaskflowLoop::iterations() const {
  std::uint64_t all = 0;
  for (const Pool::Count& one : pool_->counts) all += one.iterations;
  return all;
}

#else

struct TaskflowLoop::Pool {};

std::string TaskflowLoop::version() { return ""; }

TaskflowLoop::TaskflowLoop(Loop&, std::size_t) {
  throw driver::Error("unit_task", "was built without Taskflow",
                      "configure with -DCORESCALE_TASKFLOW=FOLDER, the one that holds taskflow/");
}

void TaskflowLoop::call() {}

std::uint64_t TaskflowLoop::iterations() const { return 0; }

#endif

TaskflowLoop::~TaskflowLoop() = default;

}  // namespace unit_task
