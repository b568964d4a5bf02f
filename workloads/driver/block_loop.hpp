// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <corescale/team/any_team.hpp>
#include <corescale/team/function_ref.hpp>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace driver {

/// The body of a loop over blocks of data, which is called once for each block.
using Block = corescale::function_ref<void(std::size_t)>;

/// A loop over blocks, as one threading system would run it. Qiu et al. (2010, section III) compare such loops. A team waits until all
/// its threads have started, so tasks of a tbb team cannot be stolen; those of a tbb loop can. Even with one thread, the loop uses the
/// system: its port, arena or team.
class BlockLoop {
 public:
  virtual ~BlockLoop() = default;

  /// Runs block(0) .. block(blocks - 1), and returns when all have ended.
  /// Throws the first exception that left a block.
  virtual void run(std::size_t blocks, Block block) = 0;

  virtual std::size_t num_threads() const = 0;
};

/// The names of the systems that this build has.
std::vector<std::string> loop_systems();

/// `ports` posts a message a block to a port with a persistent receiver; `tbb` calls parallel_for, one block a task; every other
/// system of the runtime gives thread i the i-th part of the blocks.
/// Throws Error if the system is unknown or absent, or cannot hold `threads`.
std::unique_ptr<BlockLoop> make_loop(std::string_view system, std::size_t threads);

}  // namespace driver
