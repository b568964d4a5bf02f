// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace corescale::inline v0 {

struct block_policy;
struct loop_statistics;

/// The expected cost of an iteration. It is used until the loop has been timed, and by the published model.
struct loop_cost {
  double bytes_read = 0;
  double bytes_written = 0;
  double operations = 0;
};

/// How to run a loop. The defaults need no choice, and are meant to be the best.
struct loop_options {
  /// Iterations that a thread claims at once, in the policy `fixed`; naming a block chooses that policy.
  /// 0: the policy decides.
  std::uint64_t block = 0;
  /// If all are 0, nothing is known beforehand.
  loop_cost cost{};
  /// The most threads that take part. 0: all of the team.
  std::uint32_t max_threads = 0;
  /// Set it for the first call after an unusual pause, as in a benchmark that calls several loops in turn. The time since the last call
  /// is then not used to learn how often this loop is called.
  bool after_pause = false;
  /// A row of block_policies(). Null: `fixed` if a block is named, else `auto`.
  const block_policy* policy = nullptr;
  /// What is learned is stored under this name. Null: under the place of the call in the source and the body's type.
  const char* name = nullptr;
  /// Filled in by the call, unless it is null. Costs two readings of the clock per thread and one per block.
  loop_statistics* statistics = nullptr;
};
static_assert(sizeof(loop_options) <= 64);

/// What was done in one thread's share. If that thread came late, another one may have run it (crewed_team::work_anywhere).
struct loop_share {
  std::uint64_t iterations = 0;
  std::uint64_t claims = 0;  ///< blocks that it ran
  std::uint64_t steals = 0;  ///< ranges that it took from others' shares
  double start_ns = 0;       ///< time from the call to this share's first block
  double busy_ns = 0;  ///< time from its first block to the end of its last, with the claims between them
};

/// Statistics of a call, on request. The caller provides the shares, so that a call allocates nothing. One is filled in for each thread, in
/// the order of thread ids, as far as there is room. The share of a thread that took no part is emptied.
struct loop_statistics {
  std::span<loop_share> shares{};
  const char* policy = "";  ///< its name
  std::uint64_t iterations = 0;
  std::uint64_t block = 0;  ///< iterations claimed at once, at most
  std::uint64_t claims = 0;
  std::uint64_t steals = 0;
  std::uint32_t threads = 0;  ///< threads that took part
  std::uint32_t counters =
      0;  ///< counters from which blocks were claimed; 0: the caller ran the loop alone, without claims
  bool clamped = false;   ///< the policy's formula gave no usable block: a bound took its place
  double elapsed_ns = 0;  ///< time of the whole call
};

}  // namespace corescale
