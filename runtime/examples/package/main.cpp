// SPDX-License-Identifier: Apache-2.0
// sum_of_squares: the squares below a million, summed by a team of each threading system of this build.
#include <corescale/machine/cache_line.hpp>
#include <corescale/team/any_team.hpp>
#include <cstdio>
#include <stdexcept>
#include <vector>

struct alignas(corescale::cache_line) partial_sum {
  long long value = 0;
};

long long sum_of_squares(corescale::any_team& crew, long long below) {
  const auto n = static_cast<long long>(crew.num_threads());
  std::vector<partial_sum> sums(crew.num_threads());
  const corescale::outcome worked = crew.work([&](std::size_t id) {
    for (auto i = static_cast<long long>(id); i < below; i += n) sums[id].value += i * i;
  });
  if (worked != corescale::outcome::done) throw std::runtime_error(corescale::name(worked));
  long long total = 0;
  for (const partial_sum& one : sums) total += one.value;
  return total;
}

int main() {
  for (const corescale::threading_system& system : corescale::threading_systems()) {
    if (!system.is_present()) {
      std::printf("%-15s absent: needs %s\n", system.name.data(), system.package.data());
    } else if (corescale::any_team crew = system.create(system.name == "serial" ? 1 : 2)) {
      std::printf("%-15s %zu %lld\n", system.name.data(), crew.num_threads(),
                  sum_of_squares(crew, 1'000'000));
    }
  }
}
