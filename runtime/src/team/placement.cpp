// SPDX-License-Identifier: Apache-2.0
#include "corescale/team/placement.hpp"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "corescale/team/detail/crewed_team.hpp"

namespace corescale::inline v0 {
namespace {

struct ranked_place {
  int nth_of_core;
  cpu_place place;
};

auto order_of(const ranked_place& one) {
  return std::tuple(one.nth_of_core, one.place.l3_domain, one.place.core, one.place.cpu);
}

std::vector<ranked_place> rank(const std::vector<cpu_place>& cpus) {
  std::vector<ranked_place> ranked;
  ranked.reserve(cpus.size());
  std::map<int, int> seen_of_core;
  for (const cpu_place& one : cpus) ranked.push_back({seen_of_core[one.core]++, one});
  std::sort(ranked.begin(), ranked.end(),
            [](const auto& a, const auto& b) { return order_of(a) < order_of(b); });
  return ranked;
}

}  // namespace

std::vector<cpu_place> place_threads(std::size_t n, const topology& machine) {
  const std::vector<ranked_place> ranked = rank(machine.usable());
  std::vector<cpu_place> places;
  for (std::size_t id = 0; id < n && !ranked.empty(); ++id)
    places.push_back(ranked[id % ranked.size()].place);
  return places;
}

namespace detail {
namespace {

void set_affinity_to(int cpu) noexcept {
  cpu_set_t* const only = CPU_ALLOC(cpu + 1);
  if (!only) return;
  const std::size_t bytes = CPU_ALLOC_SIZE(cpu + 1);
  CPU_ZERO_S(bytes, only);
  CPU_SET_S(cpu, bytes, only);
  sched_setaffinity(0, bytes,
                    only);  // fails if the process may no longer use that CPU; then the thread stays unpinned
  CPU_FREE(only);
}

void name_calling_thread(const char* system, std::size_t id) noexcept {
  constexpr std::size_t longest = 15;  // the kernel's limit, and a std::string needs no memory for it
  const std::string number = std::to_string(id);
  std::string name(system);
  name.resize(std::min(name.size(), longest - 1 - number.size()));
  name += ' ';
  name += number;
  pthread_setname_np(pthread_self(), name.c_str());
}

}  // namespace

first_round::first_round(const char* system, std::size_t num_threads, const team_options& options)
    : system_(system), options_(options) {
  if (options.pin) places_ = place_threads(num_threads);
}

void first_round::operator()(std::size_t id) const {
  if (id > 0) name_calling_thread(system_, id);
  if (!places_.empty()) set_affinity_to(places_[id].cpu);
  if (options_.on_thread_start) options_.on_thread_start(id);
}

}  // namespace detail
}  // namespace corescale
