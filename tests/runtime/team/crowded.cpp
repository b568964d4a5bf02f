// SPDX-License-Identifier: Apache-2.0
// Fewer cores than threads that spin: a fork-join then costs a wake-up or a switch, and never the time that a thread may spin for.
// A process of its own, as it narrows the affinity of all its threads.
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "corescale/machine/topology.hpp"
#include "corescale/team/spin.hpp"

namespace {

using namespace corescale;
using us = std::chrono::duration<double, std::micro>;

// A tenth of the 2 ms for which a thread may spin, and some forty times of what a round takes here: others use the machine too.
constexpr us limit{200};

double median_round(spin_team& crew) {
  std::vector<double> rounds;
  for (int round = 0; round < 400; ++round) {
    const auto start = std::chrono::steady_clock::now();
    if (crew.work([](std::size_t) {}) != outcome::done) std::abort();
    rounds.push_back(us(std::chrono::steady_clock::now() - start).count());
  }
  std::ranges::nth_element(rounds, rounds.begin() + 200);
  return rounds[200];
}

bool is_fast(const char* what, double microseconds) {
  const bool good = microseconds < limit.count();
  std::printf("%-28s median round %.1f us %s\n", what, microseconds, good ? "good" : "FAILED");
  return good;
}

/// Two masters with a team of two each: four threads that would spin on two cores.
bool side_by_side_is_fast() {
  std::atomic<bool> stop{false};
  std::thread other([&] {
    const auto crew = spin_team::create(2);
    while (!stop) static_cast<void>(crew->work([](std::size_t) {}));
  });
  const auto crew = spin_team::create(2);
  const double round = median_round(*crew);
  stop = true;
  other.join();
  return is_fast("two teams side by side", round);
}

void narrow_to_one_core() {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task"))
    sched_setaffinity(std::stoi(thread.path().filename()), sizeof one, &one);
}

bool narrowed_is_fast() {
  const auto before = spin_team::create(2);
  narrow_to_one_core();
  const auto after = spin_team::create(2);
  const double rounds[] = {median_round(*before), median_round(*after)};
  const bool made_before = is_fast("made before the cores shrank", rounds[0]);
  const bool made_after = is_fast("made afterwards", rounds[1]);
  return made_before && made_after;
}

}  // namespace

int main() {
  if (usable_cores() < 2) return std::puts("skipped: needs two cores"), 77;
  const bool side_by_side = side_by_side_is_fast();
  const bool narrowed = narrowed_is_fast();
  return side_by_side && narrowed ? 0 : 1;
}
