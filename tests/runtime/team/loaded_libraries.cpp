// SPDX-License-Identifier: Apache-2.0
// Which libraries a process has loaded: those of a threading system once its first team is made, and none before.
//   loaded_libraries [FOLDER SYSTEM...]   goes to FOLDER first; each of these systems must be found from there
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <string>

#include "corescale/team/any_team.hpp"

namespace {

bool is_loaded(const std::string& part_of_name) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find(part_of_name) != std::string::npos) return true;
  return false;
}

const std::map<std::string, std::string> library_of{
    {"openmp", "omp"}, {"boost", "libboost_thread"}, {"boost_barrier", "libboost_thread"}, {"tbb", "libtbb"}};

bool none_is_loaded() {
  for (const auto& [system, library] : library_of)
    if (is_loaded(library))
      return std::printf("FAILED: %s is loaded before a team of %s\n", library.c_str(), system.c_str()),
             false;
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && chdir(argv[1])) return std::perror(argv[1]), 1;
  if (!is_loaded("libcorescale_team.so"))
    return std::puts("skipped: a static runtime has all systems inside"), 77;
  for (const char* own : {"serial", "pthread", "pthread_barrier", "ports", "spin"})
    if (!corescale::make_team(1, own)) return std::printf("FAILED: no team of %s\n", own), 1;
  if (!none_is_loaded()) return 1;
  for (const auto& [system, library] : library_of) {
    if (!corescale::find_threading_system(system)->is_present() &&
        std::find(argv, argv + argc, system) == argv + argc)
      continue;
    if (!corescale::make_team(1, system)) return std::printf("FAILED: no team of %s\n", system.c_str()), 1;
    if (!is_loaded(library))
      return std::printf("FAILED: a team of %s, and %s is not loaded\n", system.c_str(), library.c_str()), 1;
  }
  return std::puts("good"), 0;
}
