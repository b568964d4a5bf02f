// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include "corescale/parallel_for/block_policy.hpp"

// Formulas for the policies, and for a loop that finds its block while it runs.
namespace corescale::inline v0::policies {

/// How uneven blocks of one size are, as a share of their time. Even if all iterations are equal, cores are
/// not, and threads do not start at once.
inline double unevenness(double spread) noexcept { return 0.1 + spread; }

/// The block that minimises claims plus tail, n / (B T) claim + B w u / 2, in iterations.
inline double best_block(double n, double threads, double iteration_ns, double claim_ns,
                         double spread) noexcept {
  return std::sqrt(2 * n * claim_ns / (threads * iteration_ns * unevenness(spread)));
}

/// Claiming less than four line transfers' time costs more than the balance that it buys.
inline double least_block(double iteration_ns, double line_ns) noexcept { return 4 * line_ns / iteration_ns; }

}  // namespace corescale::policies
