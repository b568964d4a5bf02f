// SPDX-License-Identifier: Apache-2.0
// The five functions of the multi-Newton study: team_create, team_work, team_destroy, thread_num,
// in_parallel.
#include <corescale/team/process_team.hpp>
#include <cstdio>

double square_root[4];

bool worker() {
  const std::size_t id = corescale::thread_num();
  double root = 1;
  for (int step = 0; step < 8; ++step) root -= (root * root - static_cast<double>(id + 1)) / (2 * root);
  square_root[id] = root;
  return corescale::in_parallel();
}

int main() {
  const bool good = corescale::team_create(4) && corescale::team_work(worker) && corescale::team_destroy();
  for (const double root : square_root) std::printf("%.6f ", root);
  std::printf("%s\n", good && !corescale::in_parallel() ? "sequential again" : "failed");
}
