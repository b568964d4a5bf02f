// SPDX-License-Identifier: Apache-2.0
#include "policies.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

// One function per row of the table, which is at the end.
namespace corescale::inline v0 {
namespace {

// --- static ---

// One share per thread, known beforehand: no claims, no balance.

loop_plan static_shares(const loop_description& loop) {
  return {.threads = loop.threads, .counters = loop.threads, .largest = loop.n, .smallest = loop.n};
}

// --- fixed ---

// B iterations at a time from one counter, by fetch-and-add: the loop of the study (Shuai 2021, "Problem statement").

loop_plan fixed(const loop_description& loop) {
  if (loop.block == 0)
    throw std::invalid_argument("block policy fixed: loop_options::block must be at least 1");
  return {.threads = loop.threads, .counters = 1, .largest = loop.block, .smallest = loop.block};
}

// --- guided ---

// A block is (remaining iterations / threads), from one counter: guided self-scheduling (Polychronopoulos and Kuck 1987), as in OpenMP's
// schedule(guided). loop_options::block is the least block.

loop_plan guided(const loop_description& loop) {
  return {.threads = loop.threads,
          .counters = 1,
          .largest = loop.n,
          .smallest = std::max<std::uint64_t>(1, loop.block),
          .divisor = loop.threads};
}

// --- taskflow_guided ---

// A block is half of (remaining iterations / threads), and a single iteration once fewer than 4 per thread remain, from one counter:
// Taskflow's for_each as the study describes it (Shuai 2021, "Related work"). Below 4 per thread the first rule also gives at most 1, so
// the second rule follows from it.

loop_plan taskflow_guided(const loop_description& loop) {
  return {
      .threads = loop.threads, .counters = 1, .largest = loop.n, .smallest = 1, .divisor = 2 * loop.threads};
}

// --- published_cost_model ---

// The block by the formula and the weights of Shuai (2021), "Cost model", from one counter. Its inputs are 100 times the L3 domains,
// threads, log2 of bytes read and written, and log1024 of operations. An input that is less than 1, or unknown, counts as 1. The laboratory
// has the same formula (conclude/block_size/published.py), and a test compares the two.

double scaled(double cost, double bits) { return std::max(1.0, std::log2(std::max(1.0, cost)) / bits); }

double formula(const loop_description& loop) {
  const double above = 1558.31 - 61.84 * 100 * loop.l3_domains;
  const double below = 693.13 - 10.48 * loop.threads - 33.71 * scaled(loop.cost.bytes_read, 1) -
                       34.50 * scaled(loop.cost.bytes_written, 1) - 26.84 * scaled(loop.cost.operations, 10);
  return above / below;
}

// For small bodies the formula has a pole, at which blocks grow without bound and beyond which they are negative. So blocks are limited to
// a thread's share; larger ones would be useless anyway. The study prints its blocks truncated.
loop_plan published_cost_model(const loop_description& loop) {
  const double block = formula(loop);
  const std::uint64_t iterations = (loop.n - 1) / loop.threads + 1;
  const auto share = static_cast<double>(iterations);
  const bool usable = block >= 1 && block <= share;
  const double taken = usable ? std::floor(block) : block >= 0 && block < 1 ? 1 : share;
  // A share near 2^64 may be 2^64 as a double.
  const std::uint64_t largest = taken >= share ? iterations : static_cast<std::uint64_t>(taken);
  return {.threads = loop.threads, .counters = 1, .largest = largest, .smallest = 1, .clamped = !usable};
}

// --- auto ---

// The plan of the least predicted time, over threads, counters and block:
//
//   fork-join + n w / T + (n / B T) c + B w u / 2 + what the counters' layout adds,
// for n iterations of time w in blocks of B, T threads, c the time of a claim and u the unevenness of equal blocks. For given T and c the
// best block is sqrt(2 n c / (T w u)), at which claims and tail cost the same. If a loop is so short that neither claims nor stealing pay,
// each thread runs its share as one block: B = n / T and c = 0.

// A fork must save at least this share of the serial time, because a prediction can be wrong by that much.
constexpr double least_gain = 0.1;

// A thread claims half of the rest of its counter, so that others can still steal at least half of it.
constexpr std::uint32_t share_of_rest = 2;

/// Fork and join of that many threads, at least two, if two take `of_two`.
double fork_ns(double of_two, std::uint32_t threads, const calibration& machine) noexcept {
  return of_two + machine.fork_thread * (threads - 2);
}

struct layout {
  bool by_group = false;
  bool shares_only = false;
  double claim_ns = 0;
  double added_ns = 0;
};

struct division {
  double ns = 0;
  std::uint32_t threads = 1;
  layout counters;
};

double fork_join_ns(const loop_description& loop, std::uint32_t threads) {
  if (loop.hot) return fork_ns(loop.machine.fork_hot, threads, loop.machine);
  return fork_ns(loop.machine.fork_cold, threads, loop.machine);
}

double predict(const loop_description& loop, std::uint32_t threads, const layout& counters) {
  const double work = static_cast<double>(loop.n) * loop.iteration_ns / threads;
  const double uneven = policies::unevenness(loop.spread);
  const double claims_and_tail =
      counters.shares_only ? work * uneven / 2 : std::sqrt(2 * work * counters.claim_ns * uneven);
  return fork_join_ns(loop, threads) + work + claims_and_tail + counters.added_ns;
}

// With a counter of its own, a thread pays only an addition for a claim. But at the end it looks at all threads' counters, twice. And a
// steal moves a counter to the thief and back.
layout counter_per_thread(const loop_description& loop, std::uint32_t threads) {
  const double looks = 2.0 * threads / loop.l3_domains;
  return {.claim_ns = loop.machine.claim_own, .added_ns = (looks / 2 + 2) * loop.machine.line_near};
}

// The threads of a group wait for each other's claims. On average, half of them are ahead.
// In the end blocks shrink with the rest of the loop, and the last claims of all threads queue at one counter.
layout counter_per_group(const loop_description& loop, std::uint32_t threads) {
  const double each = std::max(1.0, static_cast<double>(threads) / loop.l3_domains);
  return {.by_group = true,
          .claim_ns = loop.machine.line_near * std::max(1.0, each / 2),
          .added_ns = 2 * loop.machine.line_far + share_of_rest * each * loop.machine.line_near};
}

division best_with(const loop_description& loop, std::uint32_t threads) {
  division best{INFINITY, threads, {}};
  for (const layout& one :
       {counter_per_thread(loop, threads), counter_per_group(loop, threads), layout{.shares_only = true}}) {
    // Threads that are woken begin late, and nobody can take over a share.
    if (one.shares_only && !loop.hot) continue;
    if (const double ns = predict(loop, threads, one); ns < best.ns) best = {ns, threads, one};
  }
  return best;
}

division best_of_all(const loop_description& loop, std::uint32_t most) {
  division best = best_with(loop, most);
  for (std::uint32_t threads = 2; threads < most; threads *= 2)
    if (const division other = best_with(loop, threads); other.ns < best.ns) best = other;
  return best;
}

loop_plan divided(const loop_description& loop, const division& chosen) {
  if (chosen.counters.shares_only)
    return {.threads = chosen.threads, .counters = chosen.threads, .largest = loop.n, .smallest = loop.n};
  const double w = loop.iteration_ns;
  const auto n = static_cast<double>(loop.n);
  const double block = policies::best_block(n, chosen.threads, w, chosen.counters.claim_ns, loop.spread);
  const double least = policies::least_block(w, loop.machine.line_near);
  const double share = n / chosen.threads;
  const std::uint32_t counters =
      chosen.counters.by_group ? loop.l3_domains : std::min(chosen.threads, most_counters);
  return {
      .threads = chosen.threads,
      .counters = counters,
      .largest = static_cast<std::uint64_t>(std::clamp(std::max(block, least), 1.0, std::max(1.0, share))),
      .smallest = static_cast<std::uint64_t>(std::clamp(least, 1.0, std::max(1.0, share / 2))),
      .divisor = share_of_rest * std::max(1U, chosen.threads / counters),
      .by_group = chosen.counters.by_group,
      .steal = true};
}

// If nothing is known, every thread begins with one iteration, and increases its blocks according to their times.
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

loop_plan automatic(const loop_description& description) {
  const std::uint32_t most = std::min(description.threads, description.cores);
  loop_description loop = description;
  const bool measured = description.iteration_ns > 0;
  if (!measured) loop.iteration_ns = expected_ns(description);
  if (most < 2) return {};
  if (loop.iteration_ns <= 0) return searching(loop, most);
  const double serial = static_cast<double>(loop.n) * loop.iteration_ns;
  if (serial < fork_join_ns(loop, 2)) return {};
  const division best = best_of_all(loop, most);
  if (best.ns > (1 - least_gain) * serial) return {};
  return measured ? divided(loop, best) : searching(loop, best.threads);
}

// --- trained ---

// The block by weights fitted to loops of this machine, from one counter. It balances claims against the wait for the last block, which
// grows with a power of an iteration's time. The laboratory fits them (conclude/block_size/line_travel.py), and a test compares the two.

// The iteration time that trained_spread leaves as it is.
constexpr double usual_iteration_ns = 1000;

loop_plan trained(const loop_description& loop) {
  const double w = loop.iteration_ns > 0 ? loop.iteration_ns : expected_ns(loop);
  if (w <= 0) return searching(loop, loop.threads);
  const calibration& weights = loop.machine;
  const double claim = weights.trained_near + weights.trained_far * (loop.l3_domains - 1);
  const double tail = usual_iteration_ns * std::pow(w / usual_iteration_ns, weights.trained_spread);
  const double share = static_cast<double>(loop.n) / loop.threads;
  const double block = std::sqrt(2 * share * claim / tail);
  // The same number of blocks for each thread: if they do not divide a loop evenly, some threads have one
  // more than others.
  const double each = std::max(1.0, std::round(share / std::max(1.0, block)));
  const std::uint64_t most = (loop.n - 1) / loop.threads + 1;
  const std::uint64_t taken = each == 1 ? most : static_cast<std::uint64_t>(std::ceil(share / each));
  return {.threads = loop.threads, .counters = 1, .largest = taken, .smallest = taken};
}

// --- the table ---

constexpr std::array every_policy{
    block_policy{"auto", "least predicted time; learns from the loop's own blocks", automatic, false, true},
    block_policy{"static", "one share per thread", static_shares},
    block_policy{"fixed", "blocks of one size from one counter", fixed, true},
    block_policy{"guided", "the rest over the threads", guided},
    block_policy{"taskflow_guided", "half of the rest over the threads", taskflow_guided},
    block_policy{"published_cost_model", "the formula of Shuai (2021)", published_cost_model},
    block_policy{"trained", "by weights that corescale calibrate --train fitted", trained, false, true},
};

}  // namespace

std::span<const block_policy> block_policies() noexcept { return every_policy; }

const block_policy& usual_block_policy(std::uint64_t block) noexcept {
  constexpr const auto* with_block = std::ranges::find(every_policy, true, &block_policy::needs_block);
  return block > 0 ? *with_block : every_policy.front();
}

const block_policy* find_block_policy(std::string_view name) noexcept {
  const auto* const row = std::find_if(every_policy.begin(), every_policy.end(),
                                       [&](const block_policy& one) { return one.name == name; });
  return row == every_policy.end() ? nullptr : row;
}

}  // namespace corescale
