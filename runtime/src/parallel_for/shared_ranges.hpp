// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "corescale/machine/cache_line.hpp"
#include "corescale/parallel_for/block_policy.hpp"

namespace corescale::inline v0::detail {

/// Units [begin, end) of a loop.
struct unit_block {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// Whether every thread runs its own share, in one block, so that there is nothing to claim.
bool has_shares_only(std::uint64_t n, const loop_plan& plan) noexcept;

/// Memory for the counters of a loop. Only those that its plan has are constructed; the rest is not touched.
struct range_counters {
  struct alignas(cache_line) counter {
    std::atomic<std::uint64_t> range;
    std::atomic<std::uint32_t> group;  ///< the group of the only thread at this counter
  };
  range_counters() noexcept {}
  union {
    std::array<counter, most_counters> at;
  };
};

/// The iterations that nobody has claimed yet: contiguous ranges, a padded counter each.
///
/// Every range is one 64-bit word, next in its upper half and end in its lower, so that one addition claims, and one
/// compare-and-exchange takes half. A word contains the whole state of its range, so it is harmless if an earlier value returns (ABA). A
/// unit is 2^shift iterations, so that a loop has fewer than 2^30 units. So additions to the word of an empty range cannot wrap before
/// its users have seen that it is empty.
class shared_ranges {
 public:
  /// One thread's view. If a thread has a counter to itself, it has claimed its first block before the loop starts.
  struct member {
    std::uint32_t home = 0;
    std::uint32_t group = 0;
    std::uint64_t largest = 1;  ///< in units, as smallest
    std::uint64_t smallest = 1;
    unit_block reserved{};
    bool done = false;  ///< nothing is left for this thread beside what is reserved
    std::uint64_t claims = 0;
    std::uint64_t steals = 0;
  };

  /// The plan has at least one thread. Block sizes and the number of counters may be arbitrary; they are cut to what fits.
  shared_ranges(std::uint64_t n, const loop_plan& plan, range_counters& room) noexcept;

  member join(std::uint32_t id, std::uint32_t group) noexcept;

  /// The next block of this thread; false when there is none for it.
  bool next(member& me, unit_block& block) noexcept {
    if (stopped_.load(std::memory_order_relaxed)) [[unlikely]]
      return false;
    if (me.reserved.end > me.reserved.begin) {
      block = me.reserved;
      me.reserved = {};
    } else if (me.done || (!take(me, me.home, block) && (!steal_ || !steal(me, block)))) {
      return false;
    }
    ++me.claims;
    return true;
  }

  /// No block is handed out any more.
  void stop() noexcept { stopped_.store(true, std::memory_order_relaxed); }

  std::uint32_t shift() const noexcept { return shift_; }
  std::uint64_t units() const noexcept { return units_; }
  std::uint64_t largest() const noexcept { return largest_; }
  std::uint32_t threads() const noexcept { return threads_; }
  std::uint64_t units_of(std::uint64_t iterations) const noexcept {
    return std::max<std::uint64_t>(1, (iterations >> shift_) + ((iterations & ((1ULL << shift_) - 1)) != 0));
  }

 private:
  using word = std::uint64_t;

  static constexpr word pack(std::uint64_t next, std::uint64_t end) noexcept { return next << 32 | end; }
  static constexpr std::uint64_t next_of(word range) noexcept { return range >> 32; }
  static constexpr std::uint64_t end_of(word range) noexcept { return range & 0xffffffffU; }
  static constexpr std::uint64_t rest_of(word range) noexcept {
    return end_of(range) > next_of(range) ? end_of(range) - next_of(range) : 0;
  }
  // A dry range that one thread of several is refilling. It stays dry, whatever is added to it.
  static constexpr word refilling = word{1} << 63;
  static constexpr bool is_refilling(word range) noexcept { return range >= refilling && end_of(range) == 0; }

  std::uint64_t size(const member& me, std::uint64_t rest) const noexcept {
    if (divisor_ == 0) return std::min(me.largest, rest);
    return std::min(rest, std::clamp(rest / divisor_, me.smallest, me.largest));
  }

  member newcomer() const noexcept;
  bool take(member& me, std::uint32_t which, unit_block& block) noexcept;
  bool steal(member& me, unit_block& block) noexcept;
  bool steal_half(member& me, std::uint32_t victim, unit_block& block) noexcept;
  std::uint32_t richest(const member& me, bool own_group) const noexcept;
  unit_block share_of(std::uint32_t which) const noexcept;

  // Read by all threads, and written during the loop only after an exception. It is small, so that it fits into one cache line together
  // with everything else that a thread reads before its first block.
  range_counters::counter* counter_;
  std::uint32_t units_ = 1;
  std::uint32_t largest_ = 1;
  std::uint32_t smallest_ = 1;
  std::uint32_t counters_;
  std::uint32_t threads_;
  std::uint32_t divisor_;
  std::uint8_t shift_;
  bool steal_;
  bool shares_only_;
  bool shared_;    // several threads to a counter
  bool by_group_;  // a thread's counter is that of its L3 domain
  bool starts_small_;
  std::atomic<bool> stopped_{false};
};

}  // namespace corescale::detail
