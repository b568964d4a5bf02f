// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>

#include "corescale/machine/topology.hpp"

namespace corescale::inline v0::detail {

/// CPU -> the lowest CPU of the group that it belongs to.
using groups = std::map<int, int>;

/// What hwloc or sysfs reports about a machine, before its parts are numbered.
struct described_machine {
  std::set<int> cpus;
  groups cores, sockets, l3;
  std::map<int, int> nodes;  ///< CPU -> the kernel's number of its NUMA node
};

/// Numbers the CPUs of both sources in the same way: cores, sockets and L3 domains from 0 in the order of
/// their lowest CPU. All CPUs are allowed.
topology assemble(const described_machine& found, std::string source);

/// Returns false and writes nothing in a build without hwloc, or if hwloc reports nothing about this machine.
bool from_hwloc(topology& here);

}  // namespace corescale::detail
