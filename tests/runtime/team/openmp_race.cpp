// SPDX-License-Identifier: Apache-2.0
// Rounds of an OpenMP team for ThreadSanitizer: correct ones, or, asked to, with a race that it must find.
#include <cstdio>
#include <cstring>
#include <vector>

#include "systems/systems.hpp"

int main(int argc, char** argv) {
  const bool seeded = argc > 1 && std::strcmp(argv[1], "race") == 0;
  corescale::any_team crew = corescale::systems::make_openmp(2, {});
  if (!crew) return std::puts("no team"), 2;
  std::vector<long> sums(64, 0);
  for (int round = 0; round < 200; ++round) {
    static_cast<void>(crew.work([&](std::size_t id) { ++sums[seeded ? 0 : id * 32]; }));
    sums[63] += sums[0];  // sequential again: no race with the worker that wrote it
  }
  return std::printf("%ld\n", sums[63]) > 0 ? 0 : 2;
}
