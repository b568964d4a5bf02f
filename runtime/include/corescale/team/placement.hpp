// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "corescale/machine/topology.hpp"

namespace corescale::inline v0 {

/// The CPUs for a team of n threads: element `id` is the CPU of thread `id`, with its core and L3 domain.
/// Stable: it depends on the machine and on the CPUs that the process may use, and on nothing else.
/// Every core gets one thread before any gets two.
/// One L3 domain is full before the next begins, so that consecutive ids share a cache.
/// If there are more threads than CPUs, further threads begin again at the first CPU.
/// O(n + c log c) for c CPUs.
std::vector<cpu_place> place_threads(std::size_t n, const topology& machine = this_machine());

}  // namespace corescale
