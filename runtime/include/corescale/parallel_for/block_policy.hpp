// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "corescale/parallel_for/calibration.hpp"
#include "corescale/parallel_for/loop_options.hpp"

namespace corescale::inline v0 {

/// The information on a loop that a policy gets.
struct loop_description {
  std::uint64_t n = 0;        ///< iterations, at least 1
  std::uint32_t threads = 1;  ///< threads that may take part, at most n
  std::uint32_t cores = 1;    ///< cores that the process may use; more threads than this is oversubscription
  std::uint32_t l3_domains = 1;  ///< L3 domains of those cores
  std::uint64_t block = 0;       ///< the size that the caller asked for, 0 for none
  loop_cost cost{};
  double iteration_ns = 0;  ///< mean, as learned at this call site; 0: not known
  double spread = 0;        ///< coefficient of variation between blocks, as learned
  bool hot = false;         ///< the call site is visited so often that the team will still spin
  const calibration& machine = shipped_calibration;  ///< must outlive the description
};

/// The most counters that a loop has. If a loop has more threads, some of them share a counter.
inline constexpr std::uint32_t most_counters = 256;

/// How a loop is divided.
/// Any values are safe: values that do not fit the loop are clamped.
/// A claim takes `remaining / divisor` iterations of its counter, at least `smallest` and at most `largest`. If the divisor is 0, it always
/// takes `largest`.
struct loop_plan {
  std::uint32_t threads = 1;
  std::uint32_t counters = 0;  ///< contiguous ranges, a counter each; 0: the caller runs the loop alone
  std::uint64_t largest = 1;
  std::uint64_t smallest = 1;
  std::uint32_t divisor = 0;
  bool by_group = false;  ///< a thread uses the counter of its L3 domain, not that of its id; implies steal
  bool steal = false;     ///< a thread whose counter is empty takes half of the fullest counter's rest
  bool adapt = false;     ///< each thread fits its own largest and smallest to its blocks' times
  bool clamped = false;   ///< the formula gave no usable block
};

/// One row per policy.
struct block_policy {
  std::string_view name;
  std::string_view description;
  loop_plan (*plan)(
      const loop_description& loop);  ///< throws std::invalid_argument for options that it cannot obey
  bool needs_block = false;           ///< plan() throws if no block is given
  bool learns = false;                ///< plan() gets the times of earlier loops at the call site
};

/// The table; `auto`, the default, comes first.
std::span<const block_policy> block_policies() noexcept;

/// The row for a loop that names no policy. If the loop gives a block, it is the first row that needs one.
const block_policy& usual_block_policy(std::uint64_t block) noexcept;

/// The row of that name, or null.
const block_policy* find_block_policy(std::string_view name) noexcept;

}  // namespace corescale
