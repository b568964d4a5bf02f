// SPDX-License-Identifier: Apache-2.0
#ifdef CORESCALE_HAS_HWLOC
#include <hwloc.h>
#endif

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "assemble.hpp"

namespace corescale::inline v0 {
#ifdef CORESCALE_HAS_HWLOC
namespace {

struct destroy_topology {
  void operator()(hwloc_topology* machine) const { hwloc_topology_destroy(machine); }
};
using machine_handle = std::unique_ptr<hwloc_topology, destroy_topology>;

// A topology with cores, sockets and L3 caches, and with CPUs and NUMA nodes, which hwloc always has. CPUs that are not allowed are
// included.
machine_handle prepare() {
  hwloc_topology* made = nullptr;
  if (hwloc_topology_init(&made) != 0) throw std::runtime_error("hwloc: cannot start");
  machine_handle machine(made);
  hwloc_topology_set_all_types_filter(made, HWLOC_TYPE_FILTER_KEEP_NONE);
  for (const auto type : {HWLOC_OBJ_CORE, HWLOC_OBJ_PACKAGE, HWLOC_OBJ_L3CACHE})
    hwloc_topology_set_type_filter(made, type, HWLOC_TYPE_FILTER_KEEP_ALL);
  hwloc_topology_set_flags(made, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  return machine;
}

template <class Each>
void for_each_cpu(hwloc_const_cpuset_t set, Each each) {
  for (int cpu = hwloc_bitmap_first(set); cpu >= 0; cpu = hwloc_bitmap_next(set, cpu)) each(cpu);
}

detail::groups groups_of(hwloc_topology* machine, hwloc_obj_type_t type) {
  detail::groups members;
  for (hwloc_obj_t one = nullptr; (one = hwloc_get_next_obj_by_type(machine, type, one)) != nullptr;) {
    const int lowest = hwloc_bitmap_first(one->cpuset);
    for_each_cpu(one->cpuset, [&](int cpu) { members[cpu] = lowest; });
  }
  return members;
}

// The NUMA node of each CPU: the lowest, if several are local to it, as with high-bandwidth memory.
std::map<int, int> nodes_of(hwloc_topology* machine) {
  std::map<int, int> nodes;
  for (hwloc_obj_t one = nullptr;
       (one = hwloc_get_next_obj_by_type(machine, HWLOC_OBJ_NUMANODE, one)) != nullptr;) {
    const int number = static_cast<int>(one->os_index);
    for_each_cpu(one->cpuset, [&](int cpu) {
      const auto [seen, first] = nodes.try_emplace(cpu, number);
      if (!first) seen->second = std::min(seen->second, number);
    });
  }
  return nodes;
}

topology describe(hwloc_topology* machine, const char* source) {
  detail::described_machine found;
  for_each_cpu(hwloc_topology_get_topology_cpuset(machine), [&](int cpu) { found.cpus.insert(cpu); });
  if (found.cpus.empty()) throw std::invalid_argument("hwloc: this machine has no PU");
  found.cores = groups_of(machine, HWLOC_OBJ_CORE);
  found.sockets = groups_of(machine, HWLOC_OBJ_PACKAGE);
  found.l3 = groups_of(machine, HWLOC_OBJ_L3CACHE);
  found.nodes = nodes_of(machine);
  topology described = detail::assemble(found, source);
  const auto* const allowed = hwloc_topology_get_allowed_cpuset(machine);
  for (cpu_place& one : described.cpus)
    one.allowed = hwloc_bitmap_isset(allowed, static_cast<unsigned>(one.cpu)) != 0;
  described.most_threads = std::max<std::size_t>(1, described.usable().size());
  return described;
}

}  // namespace

// False if hwloc fails, or if variables HWLOC_... describe another machine, on which no thread can run.
bool detail::from_hwloc(topology& here) {
  const machine_handle machine = prepare();
  if (hwloc_topology_load(machine.get()) != 0 || hwloc_topology_is_thissystem(machine.get()) == 0)
    return false;
  here = describe(machine.get(), "hwloc");
  return true;
}

topology topology::from_xml(const std::string& text) {
  const machine_handle machine = prepare();
  if (hwloc_topology_set_xmlbuffer(machine.get(), text.c_str(), static_cast<int>(text.size() + 1)) != 0 ||
      hwloc_topology_load(machine.get()) != 0)
    throw std::invalid_argument("not hwloc's XML, as `lstopo --of xml` writes it");
  return describe(machine.get(), "xml");
}

topology topology::from_synthetic(const std::string& description) {
  const machine_handle machine = prepare();
  if (hwloc_topology_set_synthetic(machine.get(), description.c_str()) != 0 ||
      hwloc_topology_load(machine.get()) != 0)
    throw std::invalid_argument("not a synthetic machine of hwloc: '" + description +
                                "'; write it as pack:2 l3:4 core:8 pu:2");
  return describe(machine.get(), "synthetic");
}

#else

// Without hwloc, this machine is read from sysfs, and no other machine can be described.

bool detail::from_hwloc(topology&) { return false; }

topology topology::from_xml(const std::string&) {
  throw std::runtime_error(
      "a topology from XML: this corescale was built without hwloc (package libhwloc-dev)");
}

topology topology::from_synthetic(const std::string&) {
  throw std::runtime_error(
      "a synthetic topology: this corescale was built without hwloc (package libhwloc-dev)");
}

#endif
}  // namespace corescale
