// SPDX-License-Identifier: Apache-2.0
#include "policies.hpp"

// Half of what remains over the number of threads, and single iterations once fewer than 4 per thread remain, from one
// counter: Taskflow's for_each as the study describes it (Shuai 2021, "Related work"). Below 4 per thread the quotient
// is at most 1, so the second rule follows from the first.
namespace corescale::inline v0 {

loop_plan policies::taskflow_guided(const loop_description& loop) {
  return {
      .threads = loop.threads, .counters = 1, .largest = loop.n, .smallest = 1, .divisor = 2 * loop.threads};
}

}  // namespace corescale
