// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "policies.hpp"

// The block by the formula and the weights of Shuai (2021), "Cost model", from one counter. Its inputs: 100 times the
// core groups, threads, log2 of bytes read and written, log1024 of operations; each of them counts as 1 where it is less or
// unknown. The laboratory has the same formula (conclude/block_size/published.py), and a test compares the two.
namespace corescale::inline v0 {
namespace {

double scaled(double cost, double bits) { return std::max(1.0, std::log2(std::max(1.0, cost)) / bits); }

double formula(const loop_description& loop) {
  const double above = 1558.31 - 61.84 * 100 * loop.core_groups;
  const double below = 693.13 - 10.48 * loop.threads - 33.71 * scaled(loop.cost.bytes_read, 1) -
                       34.50 * scaled(loop.cost.bytes_written, 1) - 26.84 * scaled(loop.cost.operations, 10);
  return above / below;
}

}  // namespace

// The formula turns negative where bodies are small, past a pole on whose other side blocks grow without bound: so the
// bound is a share of n, which is also the most that a block can be of use. The study prints its blocks truncated.
loop_plan policies::published_cost_model(const loop_description& loop) {
  const double block = formula(loop);
  const std::uint64_t iterations = (loop.n - 1) / loop.threads + 1;
  const auto share = static_cast<double>(iterations);
  const bool usable = block >= 1 && block <= share;
  const double taken = usable ? std::floor(block) : block >= 0 && block < 1 ? 1 : share;
  // A share near 2^64 may be 2^64 as a double.
  const std::uint64_t largest = taken >= share ? iterations : static_cast<std::uint64_t>(taken);
  return {.threads = loop.threads, .counters = 1, .largest = largest, .smallest = 1, .clamped = !usable};
}

}  // namespace corescale
