// SPDX-License-Identifier: Apache-2.0
#include "ant_colony/network/year.hpp"

namespace network {
namespace {

/// The rank that ran an iteration.
int owner(const driver::Ranks& ranks, int iterations, int iteration) {
  int rank = 0;
  while (ranks.first_of(static_cast<std::size_t>(iterations), rank + 1) <=
         static_cast<std::size_t>(iteration))
    ++rank;
  return rank;
}

void pass_on(const driver::Ranks& ranks, int winner, Solution& solution, Year& year) {
  const Timed timed("serialise", year.serialise_seconds);
  std::string bytes = ranks.rank() == winner ? serialised(solution) : std::string();
  ranks.send(winner, 0, bytes);
  if (ranks.rank() != 0) return;
  solution = deserialised(bytes);
  ++year.sends;
  year.bytes += static_cast<long>(bytes.size());
  year.most_bytes = std::max(year.most_bytes, static_cast<long>(bytes.size()));
}

}  // namespace

void await(const driver::Ranks& ranks, double& seconds) {
  if (ranks.size() == 1) return;
  const Timed timed("wait", seconds);
  ranks.barrier();
}

void merge(const driver::Ranks& ranks, int iterations, std::span<Solution> months, Year& year) {
  if (ranks.size() == 1) return;
  std::vector<driver::Ranks::Least> least;
  for (const Solution& one : months) least.push_back({one.worth, one.iteration});
  ranks.least(least);
  for (std::size_t m = 0; m < months.size(); ++m) {
    if (least[m].place >= iterations) continue;  // nobody found a plan
    const int winner = owner(ranks, iterations, least[m].place);
    if (winner != 0 && (ranks.rank() == 0 || ranks.rank() == winner)) pass_on(ranks, winner, months[m], year);
  }
}

void keep(Year& year, const Solution& solution) {
  const Timed timed("output", year.output_seconds);
  const auto m = static_cast<std::size_t>(solution.month - 1);
  year.worth[m] = solution.worth;
  year.cost[m] = solution.total("cost");
  year.texts[m] = solution.text();
}

}  // namespace network
