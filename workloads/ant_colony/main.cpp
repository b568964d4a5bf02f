// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <filesystem>

#include "ant_colony/ant_colony.hpp"
#include "ant_colony/indexed_trail.hpp"
#include "ant_colony/network/program.hpp"
#include "ant_colony/string_trail.hpp"
#include "driver/arguments.hpp"
#include "driver/openmp.hpp"
#include "driver/result.hpp"

namespace {

struct Request {
  std::string problem = "tsp";
  std::string instance;
  std::string pheromone = "indexed";
  long optimum = 0;          // 0: as optima.csv beside the instance says
  int cycles = 0, ants = 0;  // 0: the problem's own
  ant_colony::Options options;
  network::Request network;
};

bool parse(int argc, char** argv, Request& request) {
  auto& options = request.options;
  driver::Arguments arguments(
      "ant_colony",
      "Ant Colony System with 2-opt on a travelling salesman problem, or on a network of transport.\n"
      "Threads are OpenMP's: OMP_NUM_THREADS, OMP_SCHEDULE (dynamic,1 where it is unset).");
  arguments.choice("problem", request.problem, {"tsp", "network"}, "whose options are marked");
  arguments.text("instance", request.instance, "FILE", "tsp: TSPLIB file, EUC_2D or GEO");
  arguments.integer("colonies", options.colonies, 1, 10'000'000,
                    "tsp: independent colonies, shared out to threads");
  arguments.integer("cycles", request.cycles, 0, 100'000'000,
                    "cycles in each colony; 0: 200, in a network 4");
  arguments.integer("ants", request.ants, 0, 100'000, "ants in a colony; 0: 10, in a network 2");
  arguments.integer("candidates", options.candidates, 1, ant_colony::IndexedTrail::max_candidates,
                    "tsp: nearest cities that an ant looks at first");
  arguments.integer<std::uint64_t>("seed", options.seed, 0, ~std::uint64_t{0}, "of all that is drawn");
  arguments.choice("pheromone", request.pheromone, {"indexed", "strings"},
                   "tsp: dense arrays, or objects found by names; the tour is the same");
  arguments.integer("optimum", request.optimum, 0L, 1'000'000'000'000L,
                    "tsp: length of the shortest tour; 0: from optima.csv beside FILE");
  network::add_options(arguments, request.network);
  if (!arguments.parse(argc, argv)) return false;
  const std::string other = request.problem == "tsp" ? "network" : "tsp";
  arguments.refuse_marked(other + ":", "to --problem " + request.problem,
                          "leave it out, or give --problem " + other);
  if (request.problem == "network") return true;
  if (request.cycles > 0) options.cycles = request.cycles;
  if (request.ants > 0) options.ants = request.ants;
  if (request.instance.empty()) throw driver::Error("ant_colony", "no instance", "give --instance FILE");
  return true;
}

ant_colony::Search search(const Request& request, const ant_colony::Problem& problem) {
  if (request.pheromone == "strings")
    return ant_colony::search<ant_colony::StringTrail>(problem, request.options);
  return ant_colony::search<ant_colony::IndexedTrail>(problem, request.options);
}

std::optional<double> gap(const Request& request, long length) {
  const auto optimum =
      request.optimum > 0 ? std::optional(request.optimum) : tsplib::known_optimum(request.instance);
  if (!optimum) return std::nullopt;
  return static_cast<double>(length - *optimum) / static_cast<double>(*optimum);
}

int solve(const Request& request) {
  const ant_colony::Problem problem(tsplib::read(request.instance), request.options.candidates);
  driver::choose_schedule("ant_colony", driver::Schedule::one_by_one);
  const auto start = std::chrono::steady_clock::now();
  const auto [best, threads] = search(request, problem);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

  const double cycles = static_cast<double>(request.options.colonies) * request.options.cycles;
  driver::Result result;
  result.text("instance", std::filesystem::path(request.instance).stem().string());
  result.metric("length", static_cast<double>(best.length));
  result.metric("gap", gap(request, best.length));
  result.metric("seconds", seconds);
  result.metric("cycles_per_second", cycles / seconds);
  result.metric("threads", threads);
  result.text("tour", driver::hexadecimal(ant_colony::tour_hash(best.tour)));
  result.check("tour_is_permutation", ant_colony::is_permutation(best.tour, problem.cities()));
  result.check("length_recomputed", problem.length(best.tour) == best.length);
  corescale_work(cycles);
  return result.print();
}

}  // namespace

int main(int argc, char** argv) {
  return driver::run("ant_colony", [&] {
    Request request;
    if (!parse(argc, argv, request)) return 0;
    if (request.problem == "tsp") return solve(request);
    return network::solve(request.network, request.options.seed, request.ants, request.cycles);
  });
}
