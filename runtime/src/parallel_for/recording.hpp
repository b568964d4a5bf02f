// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "corescale/parallel_for/detail/loop.hpp"
#include "corescale/parallel_for/loop_options.hpp"

// A program's own loops, recorded for `corescale calibrate --train FILE`: how long their calls took at each of a few blocks.
#pragma GCC visibility push(hidden)
namespace corescale::inline v0::detail {

/// The file that CORESCALE_LOOPS named when the process began; null if loops are not recorded.
extern const char* const recorded_loops;

/// A loop of one size, at one place.
struct loop_to_record {
  const source_place& here;
  const void* body_type;
  const char* name;  ///< may be null
  std::uint64_t n;
  std::uint32_t threads;
};

/// The block that this call shall take; 0 if the call is not recorded, because no two blocks differ, the table is full, or another thread
/// is in it. Throws std::runtime_error if the file cannot be written.
std::uint64_t block_to_record(const loop_to_record& loop);

/// Records the time of the call. The file gets a line for each loop and block when the process exits.
void record_loop(const loop_to_record& loop, const loop_statistics& seen) noexcept;

}  // namespace corescale::detail

#pragma GCC visibility pop
