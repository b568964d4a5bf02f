// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "policies.hpp"

// The block by the formula and the weights of Shuai (2021), "Cost model", from one counter. Its inputs: 100 times the
// core groups, threads, log2 of bytes read and written, log1024 of operations; unknown costs count as 1.
namespace corescale::inline v0 {
namespace {

double log2_of(double cost) { return std::log2(std::max(1.0, cost)); }

double formula(const loop_description& loop) {
  const double above = 1558.31 - 61.84 * 100 * loop.core_groups;
  const double below = 693.13 - 10.48 * loop.threads - 33.71 * log2_of(loop.cost.bytes_read) -
                       34.50 * log2_of(loop.cost.bytes_written) - 26.84 * log2_of(loop.cost.operations) / 10;
  return above / below;
}

}  // namespace

// The formula turns negative where bodies are small, past a pole on whose other side blocks grow without bound: so the
// bound is a share of n, which is also the most that a block can be of use.
loop_plan policies::published_cost_model(const loop_description& loop) {
  const double block = formula(loop);
  const std::uint64_t iterations = (loop.n - 1) / loop.threads + 1;
  const auto share = static_cast<double>(iterations);
  const bool usable = block >= 0.5 && block <= share;
  const auto taken = static_cast<std::uint64_t>(std::llround(usable                     ? block
                                                             : block > 0 && block < 0.5 ? 1
                                                                                        : share));
  return {.threads = loop.threads,
          .counters = 1,
          .largest = std::max<std::uint64_t>(1, taken),
          .smallest = 1,
          .clamped = !usable};
}

}  // namespace corescale
