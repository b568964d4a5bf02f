// SPDX-License-Identifier: Apache-2.0
#include "usable_cores.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "corescale/machine/affinity.hpp"
#include "corescale/machine/clock.hpp"
#include "corescale/machine/topology.hpp"

namespace corescale::inline v0 {
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

std::vector<int> detail::allowed_cpus() {
  constexpr int bits = 8 * sizeof(unsigned long);
  const cpu_mask mask = allowed_mask();
  std::vector<int> allowed;
  for (int cpu = 0; cpu < bits * static_cast<int>(mask.size()); ++cpu)
    if (mask[static_cast<std::size_t>(cpu / bits)] >> (cpu % bits) & 1) allowed.push_back(cpu);
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

std::size_t process_cores(std::size_t wanted) noexcept {
  constinit static std::atomic<std::size_t> known{0};
  constinit static std::atomic<std::int64_t> next_look{0};
  constexpr std::int64_t between_looks = 100'000'000;  // ns
  // No static that is made at its first use: a fork() meanwhile would leave it locked in the child.
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
    known.store(detail::within_quota(allowed > 0 ? allowed : std::thread::hardware_concurrency()),
                std::memory_order_relaxed);
  } catch (...) {  // no memory: the next look may have it
    next_look.store(0, std::memory_order_relaxed);
  }
  return std::max<std::size_t>(1, known.load(std::memory_order_relaxed));
}

}  // namespace corescale
