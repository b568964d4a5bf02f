// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <span>
#include <utility>

#include "ant_colony/colony.hpp"
#include "corescale/region.h"
#include "driver/openmp.hpp"

namespace ant_colony {

struct Search {
  Solution best;
  int threads = 1;  ///< threads that took part
};

/// Runs options.colonies independent colonies on OpenMP's threads, with the schedule that OMP_SCHEDULE names; returns the best solution.
/// It is the same for every number of threads, every schedule and every Trail. Rethrows what a colony throws.
template <class Trail>
Search search(const Problem& problem, const Options& options) {
  Search found;
  std::exception_ptr fault;
#pragma omp parallel
  {
    Solution mine;
    corescale_region_begin("colonies");
#pragma omp for schedule(runtime) nowait
    for (int colony = 0; colony < options.colonies; ++colony) {
      try {
        mine = better(std::move(mine), Colony<Trail>(problem, options, colony).run());
      } catch (...) {  // no exception may leave an OpenMP loop
#pragma omp critical
        fault = std::current_exception();
      }
    }
    corescale_region_end("colonies");
#pragma omp critical
    {
      found.best = better(std::move(found.best), std::move(mine));
      found.threads = driver::team_size();
    }
  }
  if (fault) std::rethrow_exception(fault);
  return found;
}

/// Whether `tour` visits each of n cities once.
inline bool is_permutation(std::span<const int> tour, int n) {
  std::vector<char> seen(static_cast<std::size_t>(n));
  for (const int city : tour)
    if (city < 0 || city >= n || std::exchange(seen[static_cast<std::size_t>(city)], true)) return false;
  return tour.size() == seen.size();
}

/// FNV-1a over the cities, from city 0 on towards the smaller of its two neighbours, so that a cycle has one hash whatever its start and
/// direction.
inline std::uint64_t tour_hash(std::span<const int> tour) {
  const std::size_t n = tour.size();
  const auto zero = static_cast<std::size_t>(std::find(tour.begin(), tour.end(), 0) - tour.begin());
  const bool forward = tour[(zero + 1) % n] < tour[(zero + n - 1) % n];
  std::uint64_t hash = 0xcbf29ce484222325;
  for (std::size_t k = 0; k < n; ++k) {
    const auto city = static_cast<std::uint32_t>(tour[(forward ? zero + k : zero + n - k) % n]);
    for (int byte = 0; byte < 4; ++byte) hash = (hash ^ ((city >> (8 * byte)) & 0xff)) * 0x100000001b3;
  }
  return hash;
}

}  // namespace ant_colony
