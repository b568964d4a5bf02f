// SPDX-License-Identifier: Apache-2.0
// `auto` against the best fixed block under a simulated clock, where claims, line transfers and iterations cost what the
// shipped constants say, for machines that are not here. Simulated: it shows the policy's decisions, not a machine's time.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <ostream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "corescale/parallel_for/block_policy.hpp"
#include "learned.hpp"
#include "shared_ranges.hpp"

namespace corescale::test {
namespace {

using detail::loop_times;
using detail::shared_ranges;
using detail::unit_block;

struct kind_of_loop {
  kind_of_loop(std::string named, std::uint64_t iterations, const std::function<double(std::uint64_t)>& ns)
      : name(std::move(named)), n(iterations), before(n + 1, 0) {
    for (std::uint64_t i = 0; i < n; ++i) before[i + 1] = before[i] + ns(i);
  }
  std::string name;
  std::uint64_t n;
  std::vector<double> before;  ///< ns of all iterations before this one
};

void PrintTo(const kind_of_loop& kind, std::ostream* out) { *out << kind.name; }

double drawn(std::uint64_t i) {
  std::mt19937_64 random(i);
  return -400 * std::log(std::uniform_real_distribution<double>(1e-9, 1)(random));
}

std::vector<kind_of_loop> kinds() {
  return {{"tiny", 1'000'000, [](auto) { return 1.4; }},
          {"unit_task", 4096, [](auto) { return 700.0; }},
          {"dear", 512, [](auto) { return 16'000.0; }},
          {"linear", 4000, [](std::uint64_t i) { return static_cast<double>(i); }},
          {"falling", 4000, [](std::uint64_t i) { return static_cast<double>(4000 - i); }},
          {"last_sixteenth", 8192, [](std::uint64_t i) { return i < 7680 ? 200.0 : 3200.0; }},
          {"first_sixteenth", 8192, [](std::uint64_t i) { return i < 512 ? 3200.0 : 200.0; }},
          {"random", 8192, drawn}};
}

/// The time of one call, and what was learned in it.
struct outcome_of_call {
  double ns = 0;
  loop_times times;
};

/// Reading a line of each of many counters takes less than one after the other: a core waits for some ten at once.
double look_at(std::uint32_t counters) { return 2 + counters / 10.0; }

outcome_of_call call(const kind_of_loop& kind, const loop_description& loop, const loop_plan& plan) {
  if (plan.counters == 0) return {kind.before[kind.n], {}};
  detail::range_counters room;
  shared_ranges ranges(kind.n, plan, room);
  struct thread {
    shared_ranges::member me;
    double free_at;
  };
  std::vector<thread> threads;
  for (std::uint32_t id = 0; id < plan.threads; ++id)
    threads.push_back(
        {ranges.join(id, id * loop.l3_domains / plan.threads), id == 0 ? 0.0 : loop.machine.line_near});
  outcome_of_call seen;
  const bool one_counter = plan.counters == 1;
  for (double counter_free_at = 0; !threads.empty();) {
    const auto first = std::ranges::min_element(threads, {}, &thread::free_at);
    const std::uint64_t steals = first->me.steals;
    unit_block block;
    if (!ranges.next(first->me, block)) {
      seen.ns = std::max(seen.ns, first->free_at);
      threads.erase(first);
      continue;
    }
    if (one_counter) {
      first->free_at = counter_free_at = std::max(first->free_at, counter_free_at) + loop.machine.line_near;
    } else {
      first->free_at += first->me.steals > steals ? look_at(plan.counters) * loop.machine.line_near
                                                  : loop.machine.claim_own;
    }
    const double ns = kind.before[block.end] - kind.before[block.begin];
    first->free_at += ns;
    seen.times.add(block.end - block.begin, static_cast<std::uint64_t>(ns));
  }
  seen.ns += loop.machine.fork_hot + loop.machine.fork_thread * (plan.threads - 2);
  return seen;
}

double best_fixed(const kind_of_loop& kind, loop_description loop) {
  double best = 1e300;
  for (loop.block = kind.n > 100'000 ? 64 : 1; loop.block <= kind.n / loop.threads; loop.block *= 2)
    best = std::min(best, call(kind, loop, find_block_policy("fixed")->plan(loop)).ns);
  return best;
}

/// After three calls, each of which tells the next what its blocks took.
double learned(const kind_of_loop& kind, loop_description loop) {
  outcome_of_call last;
  loop.hot = true;
  for (int one = 0; one < 3; ++one) {
    last = call(kind, loop, find_block_policy("auto")->plan(loop));
    if (last.times.mean() > 0) loop.iteration_ns = last.times.mean();
    loop.spread = last.times.spread();
  }
  return last.ns;
}

class SimulatedRace : public testing::TestWithParam<kind_of_loop> {};

INSTANTIATE_TEST_SUITE_P(Loops, SimulatedRace, testing::ValuesIn(kinds()),
                         [](const auto& row) { return row.param.name; });

TEST_P(SimulatedRace, AutoIsWithinThreePercentOfTheBestFixedBlock) {
  for (const std::uint32_t threads : {2U, 4U, 8U, 16U, 64U}) {
    const loop_description loop{
        .n = GetParam().n, .threads = threads, .cores = threads, .l3_domains = (threads + 7) / 8};
    EXPECT_LE(learned(GetParam(), loop), 1.03 * best_fixed(GetParam(), loop)) << threads << " threads";
  }
}

}  // namespace
}  // namespace corescale::test
