// SPDX-License-Identifier: Apache-2.0
#include "usable_cores.hpp"

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "corescale/machine/topology.hpp"

namespace corescale::inline v0 {
namespace {

struct free_cpu_set {
  void operator()(cpu_set_t* set) const { CPU_FREE(set); }
};

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

// A limit on any ancestor binds too. Within a container the named folder may be missing: its root is then the
// group itself.
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

}  // namespace

// The kernel answers EINVAL until the mask holds every possible core, so grow it.
std::vector<int> detail::allowed_cpus() {
  std::vector<int> allowed;
  for (int cores = 1024; cores <= (1 << 20); cores *= 2) {
    const std::unique_ptr<cpu_set_t, free_cpu_set> set(CPU_ALLOC(cores));
    const std::size_t size = CPU_ALLOC_SIZE(cores);
    if (!set || sched_getaffinity(0, size, set.get()) != 0) continue;
    for (int cpu = 0; cpu < cores; ++cpu)
      if (CPU_ISSET_S(cpu, size, set.get())) allowed.push_back(cpu);
    break;
  }
  return allowed;
}

std::size_t detail::within_quota(std::size_t cores) {
  return std::max<std::size_t>(1, std::min(cores, static_cast<std::size_t>(cores_in_quota())));
}

std::size_t usable_cores() noexcept {
  try {
    const std::size_t allowed = detail::allowed_cpus().size();
    return detail::within_quota(allowed > 0 ? allowed : std::thread::hardware_concurrency());
  } catch (...) {
    return 1;
  }
}

}  // namespace corescale
