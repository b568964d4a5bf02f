// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "best_block.hpp"
#include "fork_ns.hpp"
#include "policies.hpp"

// The plan of the least predicted time, over threads, counters and block:
//
//   fork-join + n w / T + (n / B T) c + B w u / 2 + what the counters' layout adds,
//
// w the time of an iteration, c of a claim, u how uneven blocks of one size are. For given T and c the best block is
// sqrt(2 n c / (T w u)), and claims and tail then cost the same. Where a loop is so short that no claim and no look at others' counters pays,
// each thread has one block, its share: B = n / T and c = 0.
namespace corescale::inline v0 {
namespace {

// A fork must save at least this share of the serial time: so much can a prediction be wrong.
constexpr double least_gain = 0.1;

// A thread claims half of what its counter has left: then at most half of it is out of others' reach.
constexpr std::uint32_t share_of_rest = 2;

struct layout {
  bool by_group = false;
  bool shares_only = false;
  double claim_ns = 0;
  double added_ns = 0;
};

struct choice {
  double ns = 0;
  std::uint32_t threads = 1;
  layout counters;
};

double fork_join_ns(const loop_description& loop, std::uint32_t threads) {
  if (loop.hot) return policies::fork_ns(loop.machine.fork_hot, threads, loop.machine);
  return loop.wake_times * policies::fork_ns(loop.machine.fork_cold, threads, loop.machine);
}

double predict(const loop_description& loop, std::uint32_t threads, const layout& counters) {
  const double work = static_cast<double>(loop.n) * loop.iteration_ns / threads;
  const double uneven = policies::unevenness(loop.spread);
  const double claims_and_tail =
      counters.shares_only ? work * uneven / 2 : std::sqrt(2 * work * counters.claim_ns * uneven);
  return fork_join_ns(loop, threads) + work + claims_and_tail + counters.added_ns;
}

// Alone at its counter a thread claims for the price of an addition, but in the end looks at everybody's, twice.
layout counter_per_thread(const loop_description& loop, std::uint32_t threads) {
  const double looks = 2.0 * threads / loop.core_groups;
  return {.claim_ns = loop.machine.claim_own, .added_ns = looks * loop.machine.line_near / 2};
}

// The threads of a group wait for each other's claims: half of them are ahead.
// In the end blocks shrink with what is left, and the last claims of all of them stand in one queue.
layout counter_per_group(const loop_description& loop, std::uint32_t threads) {
  const double each = std::max(1.0, static_cast<double>(threads) / loop.core_groups);
  return {.by_group = true,
          .claim_ns = loop.machine.line_near * std::max(1.0, each / 2),
          .added_ns = 2 * loop.machine.line_far + share_of_rest * each * loop.machine.line_near};
}

choice best_with(const loop_description& loop, std::uint32_t threads) {
  choice best{INFINITY, threads, {}};
  for (const layout& one :
       {counter_per_thread(loop, threads), counter_per_group(loop, threads), layout{.shares_only = true}}) {
    // Threads that are woken begin late, and nobody can take over a share.
    if (one.shares_only && !loop.hot) continue;
    if (const double ns = predict(loop, threads, one); ns < best.ns) best = {ns, threads, one};
  }
  return best;
}

choice best_of_all(const loop_description& loop, std::uint32_t most) {
  choice best = best_with(loop, most);
  for (std::uint32_t threads = 2; threads < most; threads *= 2)
    if (const choice other = best_with(loop, threads); other.ns < best.ns) best = other;
  return best;
}

loop_plan divided(const loop_description& loop, const choice& chosen) {
  if (chosen.counters.shares_only)
    return {.threads = chosen.threads, .counters = chosen.threads, .largest = loop.n, .smallest = loop.n};
  const double w = loop.iteration_ns;
  const auto n = static_cast<double>(loop.n);
  const double block = policies::best_block(n, chosen.threads, w, chosen.counters.claim_ns, loop.spread);
  const double least = policies::least_block(w, loop.machine.line_near);
  const double share = n / chosen.threads;
  const std::uint32_t counters =
      chosen.counters.by_group ? loop.core_groups : std::min(chosen.threads, most_counters);
  return {.threads = chosen.threads,
          .counters = counters,
          .largest = static_cast<std::uint64_t>(std::clamp(block, 1.0, std::max(1.0, share))),
          .smallest = static_cast<std::uint64_t>(std::clamp(least, 1.0, std::max(1.0, share / 2))),
          .divisor = share_of_rest * std::max(1U, chosen.threads / counters),
          .by_group = chosen.counters.by_group,
          .steal = true};
}

// Nothing is known: every thread begins with one iteration, and grows its blocks by the time that they take.
loop_plan searching(const loop_description& loop, std::uint32_t threads) {
  return {.threads = threads,
          .counters = std::min(threads, most_counters),
          .largest = loop.n / threads + 1,
          .smallest = 1,
          .divisor = share_of_rest,
          .steal = true,
          .adapt = true};
}

double expected_ns(const loop_description& loop) {
  const loop_cost& cost = loop.cost;
  return (cost.bytes_read + cost.bytes_written) * loop.machine.byte +
         cost.operations * loop.machine.operation;
}

}  // namespace

loop_plan policies::automatic(const loop_description& told) {
  const std::uint32_t most = std::min(told.threads, told.cores);
  loop_description loop = told;
  const bool measured = told.iteration_ns > 0;
  if (!measured) loop.iteration_ns = expected_ns(told);
  if (most < 2) return {};
  if (loop.iteration_ns <= 0) return searching(loop, most);
  const double serial = static_cast<double>(loop.n) * loop.iteration_ns;
  if (serial < fork_join_ns(loop, 2)) return {};
  const choice best = best_of_all(loop, most);
  if (best.ns > (1 - least_gain) * serial) return {};
  return measured ? divided(loop, best) : searching(loop, best.threads);
}

}  // namespace corescale
