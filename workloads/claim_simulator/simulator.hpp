// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <corescale/parallel_for/block_policy.hpp>
#include <cstdint>
#include <numeric>
#include <queue>
#include <vector>

#include "claim_simulator/loop.hpp"
#include "learned.hpp"
#include "shared_ranges.hpp"

// A discrete-event simulation of a loop: threads claim blocks from counters, and each counter is a server that one claim holds for
// as long as its cache line takes to arrive. Blocks are divided by the library's own code (shared_ranges), under a simulated
// clock, so that every policy is what a program runs. O(c log T) for c claims of T threads.
namespace claim_simulator {

/// How threads lie on the L3 domains.
enum class Placement {
  compact,    ///< a group is filled before the next
  scattered,  ///< thread i is in group i mod G
};

/// A machine that need not be here.
struct SimulatedMachine {
  std::uint32_t threads = 2;     ///< at least 1
  std::uint32_t l3_domains = 1;  ///< L3 domains that the threads span; at most as many as threads
  Placement placement = Placement::compact;
  bool sleeping = false;  ///< threads sleep before the loop: they start after fork_cold, not fork_hot
  double unevenness = 0;  ///< the slowest core takes 1 + this times as long as the mean, the fastest 1 - this
  corescale::calibration costs{};

  std::uint32_t group_of(std::uint32_t thread) const {
    return placement == Placement::scattered
               ? thread % l3_domains
               : static_cast<std::uint32_t>(std::uint64_t{thread} * l3_domains / threads);
  }
};

/// What a call of the loop took, in simulated nanoseconds.
struct Outcome {
  double ns = 0;
  double waited_ns = 0;  ///< time that all threads waited for counters that others held, and for their lines
  std::uint64_t claims = 0;
  std::uint64_t steals = 0;
  corescale::detail::loop_times times{};  ///< of its blocks in picoseconds, as a policy learns them
};

/// One call of a loop.
class Simulation {
 public:
  /// The plan divides at least one iteration over at least one thread.
  Simulation(const SimulatedMachine& machine, const SimulatedLoop& loop, const corescale::loop_plan& plan)
      : ranges_(loop.size(), plan, room_),
        machine_(machine),
        loop_(loop),
        plan_(plan),
        lines_(std::max(1U, plan.counters)) {}

  Outcome run() {
    if (plan_.counters == 0) return alone();
    start();
    while (!ready_.empty()) {
      const Ready next = ready_.top();
      ready_.pop();
      step(next);
    }
    seen_.ns += fork_ns() / 2;
    return seen_;
  }

 private:
  using Ranges = corescale::detail::shared_ranges;

  struct Thread {
    Ranges::member member;
    std::uint32_t group;
    double slowness;
  };
  struct Ready {
    double at;
    std::uint32_t thread;
    bool operator<(const Ready& other) const {
      return at != other.at ? at > other.at : thread > other.thread;
    }
  };
  /// Where a counter's line is, and when it arrives there.
  struct Line {
    double free_at = 0;
    std::uint32_t thread = ~0U;
    std::uint32_t group = 0;
  };

  Outcome alone() {
    const double ns = loop_.ns(0, loop_.size());
    seen_.ns = ns;
    seen_.claims = 1;
    seen_.times.add(loop_.size(), static_cast<std::uint64_t>(1000 * ns));
    return seen_;
  }

  double fork_ns() const {
    if (plan_.threads < 2) return 0;
    return machine_.sleeping ? machine_.costs.fork_cold : machine_.costs.fork_hot;
  }

  // Half of a fork-join is the way out, and half the way back. The caller calls and awaits the further threads one by one.
  void start() {
    for (std::uint32_t id = 0; id < plan_.threads; ++id) {
      threads_.push_back({ranges_.join(id, machine_.group_of(id)), machine_.group_of(id), slowness(id)});
      ready_.push({id == 0 ? 0 : fork_ns() / 2 + machine_.costs.fork_thread * (id - 1), id});
    }
  }

  // Speeds are evenly spread, in an order that does not depend on groups.
  double slowness(std::uint32_t id) const {
    if (plan_.threads < 2) return 1;
    std::uint32_t step = plan_.threads / 2 | 1;
    while (std::gcd(step, plan_.threads) != 1) step += 2;
    const auto rank = static_cast<double>(std::uint64_t{id} * step % plan_.threads);
    return 1 + machine_.unevenness * (2 * rank / (plan_.threads - 1) - 1);
  }

  void step(const Ready& ready) {
    Thread& thread = threads_[ready.thread];
    const bool is_reserved = thread.member.reserved.end > thread.member.reserved.begin;
    const std::uint64_t steals = thread.member.steals;
    corescale::detail::unit_block block;
    const bool found = ranges_.next(thread.member, block);
    const bool looked = plan_.steal && (!found || thread.member.steals > steals);
    const double claimed = is_reserved || thread.member.done ? ready.at
                           : looked                          ? looked_around(ready.at)
                                                             : claim(ready.at, ready.thread, thread);
    seen_.waited_ns += claimed - ready.at;
    if (!found) {
      seen_.ns = std::max(seen_.ns, claimed);
      return;
    }
    run(ready.thread, thread, block, claimed);
    seen_.steals += thread.member.steals - steals;
  }

  void run(std::uint32_t id, const Thread& thread, const corescale::detail::unit_block& block, double from) {
    const std::uint64_t begin = block.begin << ranges_.shift();
    const std::uint64_t end = block.end == ranges_.units() ? loop_.size() : block.end << ranges_.shift();
    const double ns = loop_.ns(begin, end) * thread.slowness;
    ++seen_.claims;
    seen_.times.add(end - begin, static_cast<std::uint64_t>(1000 * ns));
    ready_.push({from + ns, id});
  }

  /// The time at which the line of the thread's counter has come, after all threads that asked for it earlier.
  double claim(double at, std::uint32_t id, const Thread& thread) {
    Line& line = lines_[thread.member.home % lines_.size()];
    const corescale::calibration& costs = machine_.costs;
    const bool is_first = line.thread == ~0U;
    const double travel = line.thread == id                        ? costs.claim_own
                          : is_first || line.group == thread.group ? costs.line_near
                                                                   : costs.line_far;
    line = {std::max(at, line.free_at) + travel, id, thread.group};
    return line.free_at;
  }

  /// A thread that looks for work reads every counter, and twice if it takes some. A core waits for some ten lines at once.
  double looked_around(double at) const {
    const double travel = machine_.l3_domains > 1 ? machine_.costs.line_far : machine_.costs.line_near;
    return at + (2 + static_cast<double>(lines_.size()) / 10) * travel;
  }

  corescale::detail::range_counters room_;  // first, because of its alignment
  Ranges ranges_;
  const SimulatedMachine& machine_;
  const SimulatedLoop& loop_;
  const corescale::loop_plan& plan_;
  std::vector<Line> lines_;
  std::vector<Thread> threads_;
  std::priority_queue<Ready> ready_;
  Outcome seen_;
};

}  // namespace claim_simulator
