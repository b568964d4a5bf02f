// SPDX-License-Identifier: Apache-2.0
#include "corescale/machine/topology.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "assemble.hpp"
#include "corescale/machine/made_once.hpp"
#include "usable_cores.hpp"

namespace corescale::inline v0 {
namespace {

constinit detail::made_once<topology> this_one;

// Groups get their numbers in the order in which CPUs first name them.
class numbering {
 public:
  int of(int name) { return numbers_.try_emplace(name, static_cast<int>(numbers_.size())).first->second; }

 private:
  std::map<int, int> numbers_;
};

int group_of(const std::map<int, int>& groups, int cpu, int otherwise) {
  const auto found = groups.find(cpu);
  return found == groups.end() ? otherwise : found->second;
}

// The kernel lists CPUs that are offline too; where it lists none that is online, every CPU is allowed.
void mark_allowed(topology& machine, const std::vector<int>& allowed) {
  const auto may_run = [&](const cpu_place& one) {
    return std::binary_search(allowed.begin(), allowed.end(), one.cpu);
  };
  if (std::none_of(machine.cpus.begin(), machine.cpus.end(), may_run)) return;
  for (cpu_place& one : machine.cpus) one.allowed = may_run(one);
}

topology within_limits(topology machine) {
  mark_allowed(machine, detail::allowed_cpus());
  machine.most_threads = detail::within_quota(machine.usable().size());
  return machine;
}

}  // namespace

topology detail::assemble(const described_machine& found, std::string source) {
  topology machine;
  numbering core, socket, group;
  for (const int cpu : found.cpus) {
    const int node = group_of(found.nodes, cpu, 0);
    const int l3 = group_of(found.l3, cpu, -1 - node);  // below 0: a NUMA node that has no L3
    machine.cpus.push_back({cpu, core.of(group_of(found.cores, cpu, cpu)),
                            socket.of(group_of(found.sockets, cpu, -1)), node, group.of(l3), true});
  }
  machine.most_threads = machine.cpus.size();
  machine.source = std::move(source);
  return machine;
}

topology topology::here() {
  topology machine;
  if (!detail::from_hwloc(machine)) machine = from_sysfs();
  return within_limits(std::move(machine));
}

topology topology::here_by_sysfs() { return within_limits(from_sysfs()); }

std::vector<cpu_place> topology::usable() const {
  std::vector<cpu_place> allowed;
  std::copy_if(cpus.begin(), cpus.end(), std::back_inserter(allowed),
               [](const cpu_place& one) { return one.allowed; });
  return allowed;
}

const topology& this_machine() {
  return this_one.get([] { return topology::here(); });
}

}  // namespace corescale
