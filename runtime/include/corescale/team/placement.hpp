// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "corescale/machine/topology.hpp"

namespace corescale::inline v0 {

/// Where the threads of a team of n belong: element `id` is the CPU of that id, with its core and L3 domain.
/// Stable: it depends on the machine and on the CPUs that the process may use, and on nothing else.
/// Every core gets one thread before any gets two, and one L3 domain is full before the next begins,
/// so that ids that follow each other share a cache.
/// With more threads than CPUs it begins again.
/// O(n + c log c) for c CPUs.
std::vector<cpu_place> place_threads(std::size_t n, const topology& machine = this_machine());

}  // namespace corescale
