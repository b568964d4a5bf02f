// SPDX-License-Identifier: Apache-2.0
#include "corescale/machine/topology.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>
#include <utility>

#include "assemble.hpp"
#include "corescale/machine/affinity.hpp"
#include "corescale/machine/clock.hpp"
#include "corescale/machine/made_once.hpp"

namespace corescale::inline v0 {

// --- how many cores a process may use ---

namespace {

constexpr double unlimited = 1e9;

// "200000 100000" or "max 100000" (v2), or one number per file (v1, -1 for none).
double quota_of_v2(const std::string& folder) {
  std::string quota;
  double period = 0;
  if (!(std::ifstream(folder + "/cpu.max") >> quota >> period) || quota == "max" || period <= 0)
    return unlimited;
  return std::strtod(quota.c_str(), nullptr) / period;
}

double quota_of_v1(const std::string& folder) {
  double quota = -1;
  double period = 0;
  std::ifstream(folder + "/cpu.cfs_quota_us") >> quota;
  std::ifstream(folder + "/cpu.cfs_period_us") >> period;
  return quota > 0 && period > 0 ? quota / period : unlimited;
}

// The limits of all ancestors also apply. Inside a container the folder of that name may be missing; then the root is the group itself.
template <class QuotaOf>
double least_quota(const std::string& mount, std::string group, QuotaOf quota_of) {
  double least = quota_of(mount);
  while (!group.empty() && group != "/") {
    least = std::min(least, quota_of(mount + group));
    group.erase(group.find_last_of('/'));
  }
  return least;
}

double cores_in_quota() {
  double least = unlimited;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // hierarchy:controllers:/path
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    std::string controllers = line.substr(first, second - first) + ",";
    controllers.front() = ',';
    const std::string group = line.substr(second + 1);
    if (controllers == ",,") least = std::min(least, least_quota("/sys/fs/cgroup", group, quota_of_v2));
    if (controllers.find(",cpu,") != std::string::npos)
      least = std::min(least, least_quota("/sys/fs/cgroup/cpu", group, quota_of_v1));
  }
  return least;
}

/// The CPUs of allowed_mask(), in order; empty if the kernel does not report them.
std::vector<int> allowed_cpus() {
  constexpr int bits = 8 * sizeof(unsigned long);
  const detail::cpu_mask mask = detail::allowed_mask();
  std::vector<int> allowed;
  for (int cpu = 0; cpu < bits * static_cast<int>(mask.size()); ++cpu)
    if (mask[static_cast<std::size_t>(cpu / bits)] >> (cpu % bits) & 1) allowed.push_back(cpu);
  return allowed;
}

/// min(allowed CPUs, cgroup quota rounded down), at least 1.
std::size_t within_quota(std::size_t cores) {
  return std::max<std::size_t>(1, std::min(cores, static_cast<std::size_t>(cores_in_quota())));
}

}  // namespace

std::size_t usable_cores() noexcept {
  try {
    const std::size_t allowed = allowed_cpus().size();
    return within_quota(allowed > 0 ? allowed : std::thread::hardware_concurrency());
  } catch (...) {
    return 1;
  }
}

std::size_t process_cores(std::size_t wanted) noexcept {
  constinit static std::atomic<std::size_t> known{0};
  constinit static std::atomic<std::int64_t> next_look{0};
  constexpr std::int64_t between_looks = 100'000'000;  // ns
  // Not a static that is made at its first use: if another thread forks meanwhile, it would stay locked in the child.
  constinit static std::atomic<std::size_t> all{0};
  if (all.load(std::memory_order_relaxed) == 0)
    all.store(static_cast<std::size_t>(std::max(1L, sysconf(_SC_NPROCESSORS_CONF))),
              std::memory_order_relaxed);
  const std::size_t last = known.load(std::memory_order_relaxed);
  if (last > 0 && last >= std::min(wanted, all.load(std::memory_order_relaxed))) return last;
  const std::int64_t now = now_ns();
  if (last > 0 && now < next_look.load(std::memory_order_relaxed)) return last;
  next_look.store(now + between_looks, std::memory_order_relaxed);
  try {
    std::size_t allowed = 0;
    for (const unsigned long word : detail::mask_of_process()) allowed += std::popcount(word);
    known.store(within_quota(allowed > 0 ? allowed : std::thread::hardware_concurrency()),
                std::memory_order_relaxed);
  } catch (...) {  // no memory: the next look may have it
    next_look.store(0, std::memory_order_relaxed);
  }
  return std::max<std::size_t>(1, known.load(std::memory_order_relaxed));
}

// --- which CPUs there are, from sysfs ---

namespace {

// "0-3,8" as numbers, lowest first; empty if the file cannot be read.
std::set<int> cpu_list(const std::string& path) {
  std::set<int> cpus;
  std::ifstream file(path);
  for (std::string part; std::getline(file, part, ',');) {
    std::istringstream numbers(part);
    int first = 0;
    int last = 0;
    if (!(numbers >> first)) break;
    if (numbers.peek() != '-' || !(numbers.ignore() >> last)) last = first;
    for (int cpu = first; cpu <= last; ++cpu) cpus.insert(cpu);
  }
  return cpus;
}

std::string word(const std::string& path) {
  std::string text;
  std::ifstream(path) >> text;
  return text;
}

// The lowest CPU of the list that has the first of these names, or else the older one; `otherwise` if this kernel has neither.
int lowest_of(const std::string& folder, const char* name, const char* older, int otherwise) {
  for (const char* const one : {name, older})
    if (const std::set<int> cpus = cpu_list(folder + one); !cpus.empty()) return *cpus.begin();
  return otherwise;
}

int lowest_in_l3(const std::string& cpu_folder) {
  for (int index = 0; index < 16; ++index) {
    const std::string cache = cpu_folder + "/cache/index" + std::to_string(index);
    if (word(cache + "/level") != "3" || word(cache + "/type") == "Instruction") continue;
    if (const std::set<int> shared = cpu_list(cache + "/shared_cpu_list"); !shared.empty())
      return *shared.begin();
  }
  return -1;
}

// Does not use std::filesystem, which ends the process if no memory is left.
std::map<int, int> nodes_below(const std::string& system) {
  std::map<int, int> nodes;
  for (const int number : cpu_list(system + "/node/online"))
    for (const int cpu : cpu_list(system + "/node/node" + std::to_string(number) + "/cpulist"))
      nodes.try_emplace(cpu, number);
  return nodes;
}

// The CPUs that are online by sysfs. If sysfs is hidden, every processor of /proc/cpuinfo.
std::set<int> online_cpus(const std::string& root) {
  std::set<int> cpus = cpu_list(root + "/sys/devices/system/cpu/online");
  if (!cpus.empty()) return cpus;
  std::ifstream info(root + "/proc/cpuinfo");
  int number = 0;
  for (std::string line; std::getline(info, line);)
    if (std::sscanf(line.c_str(), "processor : %d", &number) == 1) cpus.insert(number);
  if (cpus.empty()) cpus.insert(0);
  return cpus;
}

}  // namespace

topology topology::from_sysfs(const std::string& root) {
  const std::string system = root + "/sys/devices/system";
  detail::described_machine found;
  found.cpus = online_cpus(root);
  found.nodes = nodes_below(system);
  for (const int cpu : found.cpus) {
    const std::string folder = system + "/cpu/cpu" + std::to_string(cpu);
    found.cores[cpu] = lowest_of(folder, "/topology/core_cpus_list", "/topology/thread_siblings_list", cpu);
    found.sockets[cpu] = lowest_of(folder, "/topology/package_cpus_list", "/topology/core_siblings_list", -1);
    if (const int l3 = lowest_in_l3(folder); l3 >= 0) found.l3[cpu] = l3;
  }
  return detail::assemble(found, "sysfs");
}

// --- the topology ---

namespace {

constinit detail::made_once<topology> this_one;

// Numbers groups in the order in which CPUs first mention them.
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

// The kernel also lists CPUs that are offline. If it lists none that is online, every CPU is allowed.
void mark_allowed(topology& machine, const std::vector<int>& allowed) {
  const auto may_run = [&](const cpu_place& one) {
    return std::binary_search(allowed.begin(), allowed.end(), one.cpu);
  };
  if (std::none_of(machine.cpus.begin(), machine.cpus.end(), may_run)) return;
  for (cpu_place& one : machine.cpus) one.allowed = may_run(one);
}

topology within_limits(topology machine) {
  mark_allowed(machine, allowed_cpus());
  machine.most_threads = within_quota(machine.usable().size());
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
