// SPDX-License-Identifier: Apache-2.0
// A plug-in that has a team, and is unloaded while it lives: the code that the team's threads run stays.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>

int main(int, char** argv) {
  void* const plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (!plugin) return std::printf("FAILED: %s\n", dlerror()), 1;
  auto* const make = reinterpret_cast<int (*)()>(dlsym(plugin, "make_team_and_leave_it"));
  if (!make || make() != 2) return std::puts("FAILED: the plug-in's team does not work"), 1;
  dlclose(plugin);
  usleep(50'000);  // its thread spins, then sleeps: both in the library
  std::puts("good");
  return 0;
}
