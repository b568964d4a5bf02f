// SPDX-License-Identifier: Apache-2.0
// fork() in a process that owns a team: the child does not hang, is told so by false, and may make its own team where the
// threading library allows it; the parent's team goes on.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

#include "corescale/team/process_team.hpp"
#include "systems_under_test.hpp"

namespace {

using corescale::any_team;
using corescale::outcome;
using corescale::threading_system;

// OpenMP's and oneTBB's threads do not survive fork(), and neither library can make new ones in the child.
bool works_after_fork(const threading_system& system) {
  return system.name != "openmp" && system.name != "tbb";
}

bool in_child_of_team(const threading_system& system, any_team& parents) {
  if (parents.work([](std::size_t) {}) != outcome::forked || parents.adopt() != outcome::forked) return false;
  parents = any_team();
  if (corescale::test::thread_sanitizer) return true;  // it ends a forked child that makes a thread
  any_team own = system.create(corescale::test::largest_team(system));
  return static_cast<bool>(own) == works_after_fork(system) &&
         (own.work([](std::size_t) {}) == outcome::done) == works_after_fork(system);
}

bool in_child_of_study(const threading_system& system) {
  if (corescale::team_work([] {}) || corescale::in_parallel()) return false;
  if (!corescale::team_destroy() || corescale::team_destroy()) return false;
  if (corescale::test::thread_sanitizer) return true;
  return corescale::team_create(1, system.name) == works_after_fork(system);
}

template <class Child>
bool child_is_good(Child child) {
  const pid_t id = fork();
  if (id == 0) {
    alarm(20);
    _exit(child() ? 0 : 1);
  }
  int status = 0;
  waitpid(id, &status, 0);
  return status == 0;
}

bool is_good(const threading_system& system) {
  const std::size_t n = corescale::test::largest_team(system);
  any_team crew = system.create(n);
  if (crew.work([](std::size_t) {}) != outcome::done) return false;
  if (!child_is_good([&] { return in_child_of_team(system, crew); })) return false;
  if (!corescale::team_create(n, system.name) || !corescale::team_work([] {})) return false;
  if (!child_is_good([&] { return in_child_of_study(system); })) return false;
  return crew.work([](std::size_t) {}) == outcome::done && corescale::team_work([] {}) &&
         corescale::team_destroy();
}

/// A thread that is in no team forks while the process's team is at work: in the child nobody works.
bool outsiders_child_is_sequential() {
  bool good = false;
  const auto fork_outside = [&] {
    good = child_is_good(
        [] { return !corescale::in_parallel() && corescale::team_destroy() && !corescale::in_parallel(); });
  };
  if (!corescale::team_create(2)) return false;
  const bool worked = corescale::team_work([&] {
    if (corescale::thread_num() == 0) std::thread(fork_outside).join();
  });
  return worked && corescale::team_destroy() && good;
}

}  // namespace

int main() {
  const bool outside = outsiders_child_is_sequential();
  std::printf("%-8s %s\n", "outsider", outside ? "good" : "FAILED");
  int failures = !outside;
  for (const threading_system& system : corescale::threading_systems()) {
    if (!system.is_present() || (corescale::test::thread_sanitizer && system.name == "openmp")) continue;
    const bool good = is_good(system);
    std::printf("%-8s %s\n", system.name.data(), good ? "good" : "FAILED");
    failures += !good;
  }
  return failures == 0 ? 0 : 1;
}
