// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>

#include "policies.hpp"

// B iterations at a time from one counter, by fetch-and-add: the loop of the study (Shuai 2021, "Problem statement").
namespace corescale::inline v0 {

loop_plan policies::fixed(const loop_description& loop) {
  if (loop.block == 0)
    throw std::invalid_argument("block policy fixed: loop_options::block must be at least 1");
  return {.threads = loop.threads, .counters = 1, .largest = loop.block, .smallest = loop.block};
}

}  // namespace corescale
