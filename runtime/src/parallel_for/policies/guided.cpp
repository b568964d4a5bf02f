// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "policies.hpp"

// What remains over the number of threads, from one counter: guided self-scheduling (Polychronopoulos and Kuck 1987),
// as OpenMP's schedule(guided). loop_options::block is the least block.
namespace corescale::inline v0 {

loop_plan policies::guided(const loop_description& loop) {
  return {.threads = loop.threads,
          .counters = 1,
          .largest = loop.n,
          .smallest = std::max<std::uint64_t>(1, loop.block),
          .divisor = loop.threads};
}

}  // namespace corescale
