// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <utility>

namespace pairwise_clustering {

/// How far two partitions agree: 1 if they are the same, 0 on average if they agree only by chance (Hubert and Arabie 1985).
inline double adjusted_rand_index(std::span<const std::size_t> a, std::span<const std::size_t> b) {
  std::map<std::pair<std::size_t, std::size_t>, double> both;
  std::map<std::size_t, double> of_a, of_b;
  for (std::size_t i = 0; i < a.size(); ++i) {
    both[{a[i], b[i]}] += 1;
    of_a[a[i]] += 1;
    of_b[b[i]] += 1;
  }
  const auto pairs = [](const auto& counts) {
    double sum = 0;
    for (const auto& [key, count] : counts) sum += count * (count - 1) / 2;
    return sum;
  };
  const auto n = static_cast<double>(a.size());
  const double together = pairs(both), in_a = pairs(of_a), in_b = pairs(of_b);
  const double chance = in_a * in_b / (n * (n - 1) / 2), most = (in_a + in_b) / 2;
  return most == chance ? 1 : (together - chance) / (most - chance);
}

}  // namespace pairwise_clustering
