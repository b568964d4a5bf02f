// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <corescale/machine/topology.hpp>
#include <set>
#include <stdexcept>

#include "claim_simulator/case.hpp"

namespace claim_simulator {

/// The L3 domain of each core, in the order of cores. Throws driver::Error if the text describes no machine.
inline std::vector<int> groups_of_cores(const std::string& description) {
  try {
    std::vector<int> groups;
    for (const corescale::cpu_place& one : corescale::topology::from_synthetic(description).cpus)
      if (one.core == static_cast<int>(groups.size())) groups.push_back(one.l3_domain);
    return groups;
  } catch (const std::exception& error) {
    refuse("topology", error.what(), "lstopo draws what it understands: lstopo -i DESCRIPTION");
  }
}

/// Puts the case on a machine by hwloc's synthetic description, such as "package:2 l3:1 core:24 pu:1". The case then has a thread on each
/// core, or on as many cores as `threads` says, and the L3 domains of these cores. Throws driver::Error.
inline void place_on(Case& one, const std::string& description, bool on_every_core) {
  const std::vector<int> groups = groups_of_cores(description);
  const auto cores = static_cast<double>(groups.size());
  if (on_every_core) one.threads = cores;
  if (one.threads > cores)
    refuse("topology",
           "'" + description + "' has fewer cores than " + std::to_string(std::llround(one.threads)),
           "give fewer --threads");
  const auto threads = static_cast<std::ptrdiff_t>(one.threads);
  const auto spanned = std::set<int>(groups.begin(), groups.begin() + threads).size();
  const auto all = std::set<int>(groups.begin(), groups.end()).size();
  one.l3_domains = one.placement == "compact" ? static_cast<double>(spanned)
                                              : std::min(one.threads, static_cast<double>(all));
}

}  // namespace claim_simulator
