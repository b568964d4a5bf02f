// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "unit_task/loop.hpp"

namespace unit_task {

/// The study's rival: Taskflow's for_each_index with its guided partitioner, on its own threads, which are not pinned. Its
/// headers are not part of corescale: a build has them if -DCORESCALE_TASKFLOW=FOLDER names the folder that holds taskflow/.
class TaskflowLoop {
 public:
  /// "Taskflow 3.2", or empty if this build has none.
  static std::string version();

  /// The loop must outlive it. Throws driver::Error if this build has no Taskflow.
  TaskflowLoop(Loop& loop, std::size_t threads);
  ~TaskflowLoop();

  /// Runs every iteration once, as one call of a loop.
  void call();

  /// Iterations that ran since it was made.
  std::uint64_t iterations() const;

 private:
  struct Pool;
  std::unique_ptr<Pool> pool_;
};

}  // namespace unit_task
