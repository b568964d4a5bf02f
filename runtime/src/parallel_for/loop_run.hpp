// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include "core_groups.hpp"
#include "corescale/machine/cache_line.hpp"
#include "corescale/parallel_for/block_policy.hpp"
#include "corescale/parallel_for/detail/run_loop.hpp"
#include "loop_times.hpp"
#include "shared_ranges.hpp"

namespace corescale::inline v0::detail {

/// One loop in the hands of a team, without a clock. Lives on the caller's stack, and is itself the worker: what a thread
/// reads before its first block is one cache line.
class alignas(cache_line) plain_loop {
 public:
  plain_loop(std::uint64_t n, const loop_plan& plan, const loop_body& body) noexcept
      : body_(body), ranges_(n, plan, counters_), n_(n) {
    static_assert(sizeof(body_) + sizeof(ranges_) <= cache_line);
  }

  /// False when the team refused, and nothing was run.
  bool run(const team_ref& team) { return team.work(ranges_.threads(), *this); }

  void operator()(std::size_t id);

 private:
  const loop_body body_;
  shared_ranges ranges_;
  const std::uint64_t n_;  // read where a unit is more than one iteration only
  range_counters counters_;
};

/// The same with a clock: it learns what blocks take, and can find their size as it goes.
class timed_loop {
 public:
  timed_loop(const loop_description& loop, const loop_plan& plan, const loop_body& body,
             loop_statistics* statistics) noexcept;

  bool run(const team_ref& team);

  double elapsed_ns() const noexcept;

  /// What fork and join added to it: how late the threads began, in the mean, as those that are there take over the work of the
  /// others; and from the end of the last block to the return.
  double fork_join_ns() const noexcept;

  /// Of all threads together, in ticks.
  loop_times times() const noexcept;

  void report(loop_statistics& statistics) const noexcept;

 private:
  struct alignas(cache_line) seen {
    loop_times times;
    std::uint64_t largest = 0;
    std::uint64_t first = 0;  ///< when it began its first block
    std::uint64_t last = 0;   ///< when it ended its last
  };

  // Threads beyond these are not listened to: what their blocks take is like what others' take.
  static constexpr std::uint32_t most_listened = 64;

  void work(std::uint32_t id);
  void adapt(shared_ranges::member& me, std::uint64_t iterations, std::uint64_t ticks) const noexcept;
  std::uint32_t listened() const noexcept { return std::min(plan_.threads, most_listened); }

  const loop_description& loop_;
  const loop_plan plan_;
  const loop_body body_;
  loop_statistics* const statistics_;
  const double tick_ns_;
  std::uint64_t start_ = 0;
  std::uint64_t end_ = 0;
  std::atomic<std::uint64_t> claims_{0};
  std::atomic<std::uint64_t> steals_{0};
  shared_ranges ranges_;
  range_counters counters_;
  union {
    std::array<seen, most_listened> seen_;
  };
};

}  // namespace corescale::detail
