// SPDX-License-Identifier: Apache-2.0
#include "corescale/team/placement.hpp"

#include <algorithm>
#include <map>
#include <tuple>

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

}  // namespace corescale
