// SPDX-License-Identifier: Apache-2.0
// The split of the study's ant colony, as plainly as it can be written: what `scripts/bench ant_colony` lays beside our baseline.
//   bench_ant_colony_plain ITERATIONS THREADS
// Pheromone in a std::map by strings that are put together at each look, an equal part of the iterations for each std::thread, the
// best of each thread, the best of all by the thread that waited. The problem and the arithmetic are the workload's; none of its
// objects, regions, teams or heaps.
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "ant_colony/network/colony/colony.hpp"
#include "ant_colony/network/solution.hpp"

namespace {

class PlainTrail {
 public:
  template <class T>
  using Array = std::vector<T>;
  struct Setting {};

  struct Ant {
    Ant(const network::Month& of, Setting) : month(of) {}
    void take(int /*k*/, int /*r*/) {}
    double worth(const std::vector<int>& choices) const { return network::worth_of<Array>(month, choices); }
    const network::Month& month;
  };

  PlainTrail(const network::Month& month, double initial, Setting) : month_(month) {
    for (int k = 0; k < month.size(); ++k)
      for (std::size_t r = 0; r < month.candidates(k).size(); ++r)
        pheromone_[key(k, static_cast<int>(r))] = initial;
  }

  double attraction(int k, int r) { return pheromone_[key(k, r)] * route(k, r).visibility; }
  void mark(int k, int r, double rate, double amount) {
    double& tau = pheromone_[key(k, r)];
    tau = ant_colony::marked(tau, rate, amount);
  }

 private:
  const network::Route& route(int k, int r) const {
    return month_.candidates(k)[static_cast<std::size_t>(r)];
  }

  std::string key(int k, int r) const {
    const network::Route& one = route(k, r);
    const network::Network& all = month_.network();
    std::string made = month_.order(k).id + "|" +
                       all.tables().warehouses[static_cast<std::size_t>(one.warehouse)].name + "|" +
                       all.ports()[static_cast<std::size_t>(one.port)];
    if (one.lane < 0) return made;
    const network::Lane& by = all.lanes()[static_cast<std::size_t>(one.lane)];
    return made + "|" + by.carrier + "|" + by.service + "|" + std::to_string(static_cast<int>(by.days)) +
           "|" + by.mode + "|" + by.destination;
  }

  const network::Month& month_;
  std::map<std::string, double> pheromone_;
};

using Best = network::Found<PlainTrail::Array>;

Best part(const network::Month& month, const network::ColonyOptions& options, int first, int last) {
  Best best;
  for (int iteration = first; iteration < last; ++iteration) {
    Best found = network::iterate<PlainTrail>(month, options, {}, iteration);
    if (found.better_than(best.worth, best.iteration)) best = std::move(found);
  }
  return best;
}

Best search(const network::Month& month, const network::ColonyOptions& options, int iterations, int threads) {
  std::vector<Best> bests(static_cast<std::size_t>(threads));
  std::vector<std::thread> running;
  for (int t = 0; t < threads; ++t)
    running.emplace_back([&, t] {
      bests[static_cast<std::size_t>(t)] =
          part(month, options, iterations * t / threads, iterations * (t + 1) / threads);
    });
  for (std::thread& one : running) one.join();
  Best best = bests[0];
  for (const Best& one : bests)
    if (one.better_than(best.worth, best.iteration)) best = one;
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::cerr << "bench_ant_colony_plain ITERATIONS THREADS\n", 2;
  const int iterations = std::atoi(argv[1]), threads = std::atoi(argv[2]);
  network::Options options;
  const network::Network network(network::generate(options.seed, 9216), options, "generated");
  std::vector<network::Month> months;
  for (int m = 0; m < static_cast<int>(network.months().size()); ++m) months.emplace_back(network, m);
  network::ColonyOptions colony;
  colony.ants = 2, colony.cycles = 2;
  double cost = 0;
  std::size_t written = 0;
  const auto start = std::chrono::steady_clock::now();
  for (const network::Month& month : months) {
    const Best best = search(month, colony, iterations, threads);
    const network::Solution solution =
        network::make_solution(*best.month, best.worth, best.iteration, best.choices);
    cost += solution.total("cost");
    written += solution.text().size();
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::cout.precision(17);
  std::cout << "{\"cost\": " << cost << ", \"iterations_per_second\": "
            << iterations * static_cast<double>(months.size()) / seconds.count()
            << ", \"written\": " << written << "}\n";
}
