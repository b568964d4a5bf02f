// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <fstream>
#include <sstream>

#include "assemble.hpp"

namespace corescale::inline v0 {
namespace {

// "0-3,8" as numbers, lowest first; empty where the file cannot be read.
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

// The first of two names that this kernel has; the CPU alone where it has neither.
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

// Not by std::filesystem, which ends the process where no memory is left.
std::map<int, int> nodes_below(const std::string& system) {
  std::map<int, int> nodes;
  for (const int number : cpu_list(system + "/node/online"))
    for (const int cpu : cpu_list(system + "/node/node" + std::to_string(number) + "/cpulist"))
      nodes.try_emplace(cpu, number);
  return nodes;
}

// Where sysfs is hidden, every processor of /proc/cpuinfo.
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

}  // namespace corescale
