// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace corescale::inline v0 {

/// Cores that this process may really use at once, at least 1: the lesser of the calling thread's affinity and the cgroup v1/v2 CPU quota,
/// rounded down. If a team has pinned the thread, its affinity from before counts. Costs some 50 us for a few files and a system call, so
/// keep the answer.
/// Never throws.
std::size_t usable_cores() noexcept;

/// The same, but by the affinities of all threads of the process together, so that a pinned thread does not reduce it.
/// The answer is cached. As long as it is less than `wanted`, it is read again, at most ten times a second. Never throws.
std::size_t process_cores(std::size_t wanted = 1) noexcept;

/// One hardware thread, as the kernel numbers it. Cores, sockets and L3 domains count from 0 in the order of
/// their lowest CPU; NUMA nodes keep the kernel's numbers.
struct cpu_place {
  int cpu = 0;
  int core = 0;
  int socket = 0;
  int numa_node = 0;
  int l3_domain = 0;    ///< CPUs that share one L3; without an L3, those of one NUMA node
  bool allowed = true;  ///< whether this process may run on it

  bool operator==(const cpu_place&) const = default;
};

/// Which CPU belongs to which core, socket, NUMA node and L3 domain. `corescale doctor` shows the same.
struct topology {
  std::vector<cpu_place> cpus;   ///< the online ones in the order of their numbers; never empty
  std::size_t most_threads = 1;  ///< min(allowed CPUs, quota rounded down), at least 1
  std::string source;            ///< "hwloc", "sysfs", "xml" or "synthetic"

  /// This machine, with the CPUs that the calling thread may use. Reads it by hwloc, or else from sysfs, which takes milliseconds.
  static topology here();

  /// The same, only by sysfs. It takes 0.2 ms. hwloc takes 20 ms, because it also loads plugins for graphics cards.
  static topology here_by_sysfs();

  /// Only from sysfs, below `root`: here() falls back to it in a build without hwloc.
  static topology from_sysfs(const std::string& root = "");

  /// Another machine, by the XML that `lstopo --of xml` writes, or by hwloc's synthetic description, such as
  /// "pack:2 l3:4 core:8 pu:2"; for tests. Nothing is pinned by it. Throws std::invalid_argument for what
  /// hwloc does not understand, std::runtime_error in a build without hwloc.
  static topology from_xml(const std::string& text);
  static topology from_synthetic(const std::string& description);

  /// The CPUs that this process may run on.
  std::vector<cpu_place> usable() const;
};

/// The result of the first call of here(), which is cached. Later changes of the affinity are not noticed.
const topology& this_machine();

}  // namespace corescale
