// SPDX-License-Identifier: Apache-2.0
// The topology as the library sees it, for the comparison with `corescale doctor`: `here`, `xml FILE` or
// `sysfs ROOT`. One line a CPU: number, core, socket, NUMA node, L3 domain, allowed; then how many threads
// at most.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "corescale/machine/topology.hpp"

namespace {

std::string text_of(const std::string& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

corescale::topology chosen(const std::string& kind, const std::string& argument) {
  if (kind == "xml") return corescale::topology::from_xml(text_of(argument));
  return kind == "sysfs" ? corescale::topology::from_sysfs(argument) : corescale::topology::here();
}

}  // namespace

int main(int argc, char** argv) {
  const corescale::topology machine = chosen(argc > 1 ? argv[1] : "here", argc > 2 ? argv[2] : "");
  for (const corescale::cpu_place& one : machine.cpus)
    std::printf("%d %d %d %d %d %d\n", one.cpu, one.core, one.socket, one.numa_node, one.l3_domain,
                one.allowed);
  std::printf("%zu\n", machine.most_threads);
}
