// SPDX-License-Identifier: Apache-2.0
// Teams that are made, used and ended by the destructors of thread_local and static objects, and ended behind those of
// libraries that were loaded later.
#include <unistd.h>

#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "corescale/team/any_team.hpp"
#include "corescale/team/process_team.hpp"

namespace {

using corescale::outcome;

#ifdef __SANITIZE_THREAD__
constexpr bool thread_sanitizer = true;
#else
constexpr bool thread_sanitizer = false;
#endif

[[noreturn]] void fail(const std::string& where, const char* what) {
  std::fprintf(stderr, "%s: %s\n", where.c_str(), what);
  _exit(1);
}

void use_teams(const char* where) {
  for (int round = 0; round < 3; ++round) {
    corescale::any_team crew = corescale::make_team(3);
    if (!crew) fail(where, "no team");
    std::vector<int> ran(3);
    const outcome worked = crew.work([&](std::size_t id) { ran[id] = 1; });
    if (worked != outcome::done || ran != std::vector<int>(3, 1)) fail(where, name(worked));
  }
  if (!corescale::team_create(2) || !corescale::team_work([] {}) || !corescale::team_destroy())
    fail(where, "the process's team");
}

struct late_user {
  const char* where;
  ~late_user() { use_teams(where); }
};

// Destroyed last of all: the threading systems' libraries are loaded after it was constructed.
std::vector<corescale::any_team> kept;
late_user early{"a static object"};

}  // namespace

int main() {
  std::thread([] {
    thread_local const late_user here{"a thread_local object"};
    use_teams(here.where);
  }).join();
  use_teams("main");
  for (const corescale::threading_system& system : corescale::threading_systems()) {
    if (thread_sanitizer && system.name == "openmp") continue;  // it cannot see into that library
    if (corescale::any_team crew = system.create(system.name == "serial" ? 1 : 3))
      kept.push_back(std::move(crew));
  }
  for (corescale::any_team& crew : kept)
    if (crew.work([](std::size_t) {}) != outcome::done) fail("main", "a team that is kept");
  return 0;
}
