// SPDX-License-Identifier: Apache-2.0
#include "ant_colony/network/program.hpp"

#include <charconv>
#include <cmath>
#include <filesystem>
#include <functional>
#include <iostream>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>

#include "ant_colony/network/by_month.hpp"
#include "ant_colony/network/by_year.hpp"
#include "ant_colony/network/report.hpp"
#include "ant_colony/network/tables/whole_file.hpp"
#include "driver/openmp.hpp"
#include "driver/tbb_heap.hpp"

namespace network {
namespace {

std::vector<std::string> heaps() {
#ifdef CORESCALE_HAS_TBBMALLOC
  return {"plain", "scalable", "cache-aligned"};
#else
  return {"plain"};
#endif
}

[[noreturn]] void refuse(const std::string& what, const std::string& remedy) {
  throw driver::Error("ant_colony", what, remedy);
}

/// "cost=1,emissions=0.1". Measures that are not named are worth nothing.
Goal goal(const std::string& text) {
  Goal made{-1, -1, -1, -1};  // not named yet
  for (std::size_t at = 0; at <= text.size(); at = std::min(text.find(',', at), text.size()) + 1) {
    const std::string part = text.substr(at, text.find(',', at) - at), name = part.substr(0, part.find('='));
    double* const place = name == "cost"        ? &made.cost
                          : name == "emissions" ? &made.emissions
                          : name == "energy"    ? &made.energy
                          : name == "time"      ? &made.time
                                                : nullptr;
    const std::string number = part.substr(std::min(name.size() + 1, part.size()));
    double value = 0;
    const auto [end, fault] = std::from_chars(number.data(), number.data() + number.size(), value);
    if (place == nullptr || *place >= 0 || fault != std::errc{} || end != number.data() + number.size() ||
        !(value == 0 || (value >= 1e-3 && value < 1e9)))
      refuse("--goal '" + text + "' cannot be used",
             "give cost, emissions, energy and time, each once, what a unit of it is worth (0, or at least "
             "0.001), "
             "as in cost=1,emissions=0.1");
    *place = value;
  }
  for (double* one : {&made.cost, &made.emissions, &made.energy, &made.time}) *one = std::max(*one, 0.0);
  if (made.cost + made.emissions + made.energy + made.time <= 0)
    refuse("--goal '" + text + "' is nothing", "give one measure a worth");
  return made;
}

Look look(const std::string& name) {
  return name == "buffer" ? Look::buffer : name == "key" ? Look::key : Look::measures;
}

void check(const Request& request, const driver::Ranks& ranks) {
  if (request.orders % 12 != 0)
    refuse("--orders " + std::to_string(request.orders) + " are no equal months", "give a multiple of 12");
  if (ranks.size() > 1 && request.parallel == "openmp")
    refuse("--parallel openmp is one process, and these are " + std::to_string(ranks.size()) + " ranks",
           "give --parallel hybrid");
  if (ranks.size() > 1 && !can_serialise())
    refuse("this build cannot send solutions between ranks", "install libcereal-dev and build again");
  if (!request.data.empty() && !request.write_data.empty())
    refuse("--write-data writes tables that are generated, and --data reads others", "leave one out");
  for (const char* table : tables_files) {
    std::error_code absent;
    if (!request.solution.empty() && !request.data.empty() &&
        std::filesystem::equivalent(request.solution, std::filesystem::path(request.data) / table, absent))
      refuse("--solution would replace " + request.solution + ", which --data reads", "give another file");
  }
  if (request.account && (request.parallel == "corescale" || request.heap != "plain"))
    refuse("--account is of the study's program and the plain heap", "leave out what differs");
  if (request.parallel == "corescale" && (request.look != "key" || request.heap != "plain"))
    refuse("--look and --heap are of the study's program", "leave them out, or give another --parallel");
}

template <class Heap>
void by_month(std::span<const Month> months, const Work& work, const Request& request,
              const driver::Ranks& ranks, Year& year) {
  ByMonth<Heap>(work, look(request.look), ranks).search(months, year);
}

void search(std::span<const Month> months, const Work& work, const Request& request,
            const driver::Ranks& ranks, Year& year) {
  ranks.barrier();
  const double start = now();
  if (request.parallel == "corescale")
    search_by_year(months, work, ranks, year);
  else if (request.account)
    by_month<driver::SampledHeap>(months, work, request, ranks, year);
#ifdef CORESCALE_HAS_TBBMALLOC
  else if (request.heap == "scalable")
    by_month<driver::ScalableHeap>(months, work, request, ranks, year);
  else if (request.heap == "cache-aligned")
    by_month<driver::CacheAlignedHeap>(months, work, request, ranks, year);
#endif
  else
    by_month<driver::PlainHeap>(months, work, request, ranks, year);
  year.seconds = ranks.largest(now() - start);
}

Network load(const Request& request, const Options& options) {
  if (!request.data.empty()) return {read(request.data), options, request.data};
  return {generate(options.seed, request.orders), options, "generated"};
}

/// Opens it on rank 0. If that fails, throws the same driver::Error on all ranks, so that none waits for rank 0.
std::unique_ptr<WholeFile> open_solution(const Request& request, const driver::Ranks& ranks) {
  std::unique_ptr<WholeFile> file;
  std::optional<driver::Error> fault;
  try {
    if (!request.solution.empty() && ranks.rank() == 0) file = std::make_unique<WholeFile>(request.solution);
  } catch (const driver::Error& error) {
    fault = error;
  }
  if (ranks.largest(fault ? 1 : 0) > 0)
    throw fault.value_or(driver::Error("ant_colony", "rank 0 has failed", ""));
  return file;
}

/// Throws driver::Error if a month has no plan, because without that month the year would look cheap.
void check_planned(std::span<const Month> months, const Year& year, bool generated) {
  const auto missing = std::ranges::find_if_not(year.worth, [](double one) { return std::isfinite(one); });
  if (missing == year.worth.end()) return;
  const Month& month = months[static_cast<std::size_t>(missing - year.worth.begin())];
  throw driver::Error(
      generated ? "ant_colony" : month.network().folder() + "/OrderList.csv",
      "month " + std::to_string(month.number() + 1) + " (order " + month.order(0).id +
          " and on): no ant found room for all its orders on the lanes",
      generated ? "give more --ants or --iterations, or another --seed"
                : "raise the largest weights in FreightRates.csv, or give more --ants or --iterations");
}

void make_months(const Network& network, const Request& request, std::vector<Month>& months) {
  const int there = static_cast<int>(network.months().size());
  if (request.months > there)
    refuse("--months " + std::to_string(request.months) + ", and the orders are of " + std::to_string(there),
           "give at most that");
  for (int m = 0; m < (request.months > 0 ? request.months : there); ++m) months.emplace_back(network, m);
  if (static_cast<double>(months.size()) * request.iterations > std::numeric_limits<int>::max())
    refuse("--iterations " + std::to_string(request.iterations) + " of " + std::to_string(months.size()) +
               " months are more than can be counted",
           "give fewer");
}

/// Throws driver::Error on all ranks if their months or options differ, as on a node with an older copy of the tables.
void check_same(std::span<const Month> months, const Network& network, const std::string& told,
                const driver::Ranks& ranks) {
  double sum = static_cast<double>(months.size());
  for (const Month& month : months) {
    sum += month.bound() + month.cheapest();
    for (int k = 0; k < month.size(); ++k) sum += month.weight(k) * (k + 1);
  }
  std::string texts = told;
  for (const Order& order : network.tables().orders) texts += '\n' + order.id;
  const auto hash =
      static_cast<double>(std::hash<std::string>()(texts) >> 12);  // 52 bits, which a double holds
  for (const double one : {sum, hash})
    if (ranks.largest(one) != -ranks.largest(-one))
      refuse("the ranks have different tables or options", "give all nodes the same");
}

int solve(const Request& request, std::uint64_t seed, int ants, int cycles, const driver::Ranks& ranks) {
  std::optional<Network> network;
  std::vector<Month> months;
  if (!ranks.agreed([&] {
        check(request, ranks);
        network.emplace(load(request, {goal(request.goal), request.flat, request.candidates, seed}));
        if (!request.write_data.empty())
          write(network->tables(), request.write_data);
        else
          make_months(*network, request, months);
      }))
    return 2;
  if (!request.write_data.empty()) return 0;
  check_same(months, *network,
             std::to_string(seed) + ' ' + std::to_string(request.iterations) + ' ' + std::to_string(ants) +
                 ' ' + std::to_string(cycles) + ' ' + request.parallel + ' ' + request.look + ' ' +
                 request.heap,
             ranks);
  std::unique_ptr<WholeFile> file = open_solution(request, ranks);
  Work work{{}, request.iterations, driver::most_threads()};
  if (ants > 0) work.colony.ants = ants;
  if (cycles > 0) work.colony.cycles = cycles;
  double threads = work.threads;
  ranks.sum({&threads, 1});
  Year year(months.size(), static_cast<int>(threads));
  try {
    search(months, work, request, ranks, year);
  } catch (const driver::Error& error) {
    if (ranks.size() == 1) throw;
    std::cerr << error.what() << std::endl;
    throw std::runtime_error("a rank has failed");  // ends the launch: the others would wait for ever
  }
  gather(ranks, year);
  if (!ranks.agreed([&] {
        if (ranks.rank() == 0) check_planned(months, year, request.data.empty());
      }))
    return 2;
  if (ranks.rank() != 0) return 0;
  if (file) try {
      file->out() << Solution::headings;
      for (const std::string& text : year.texts) file->out() << text;
      file->commit();
    } catch (const driver::Error&) {  // the result of the search is not lost
      report(request, work, months, ranks, year);
      throw;
    }
  return report(request, work, months, ranks, year);
}

}  // namespace

void add_options(driver::Arguments& arguments, Request& request) {
  arguments.text("data", request.data, "FOLDER",
                 "network: CSV tables; else they are generated from the seed");
  arguments.text("write-data", request.write_data, "FOLDER",
                 "network: write the tables there, and search nothing");
  arguments.text("solution", request.solution, "FILE", "network: CSV of every order's route");
  arguments.integer("orders", request.orders, 12, 1'200'000, "network: generated, in 12 months");
  arguments.integer("months", request.months, 0, 1200,
                    "network: solved, of those that the orders have; 0: all");
  arguments.integer("iterations", request.iterations, 1, 10'000'000,
                    "network: independent colonies for a month");
  arguments.integer("routes", request.candidates, 1, 10'000, "network: that an ant looks at for an order");
  arguments.text("goal", request.goal, "WORTHS",
                 "network: dollars for a unit of cost, emissions, energy, time");
  arguments.flag("flat", request.flat, "network: what a lane costs does not depend on its load");
  arguments.choice("parallel", request.parallel, {"openmp", "hybrid", "corescale"},
                   "network: the study's program; on several ranks; without the causes of waiting");
  arguments.choice(
      "look", request.look, {"buffer", "key", "measures"},
      "network: what the study's ants make of each route they look at: about 5, 15 or 40% in malloc");
  arguments.choice("heap", request.heap, heaps(), "network: whose allocator the study's containers have");
  arguments.flag("account", request.account, "network: the share of time in the allocator, by sampling");
}

int solve(const Request& request, std::uint64_t seed, int ants, int cycles) {
  const driver::Ranks ranks;
  try {
    return solve(request, seed, ants, cycles, ranks);
  } catch (const driver::Error& error) {  // the same on all ranks, which end as one
    if (ranks.rank() == 0) std::cerr << error.what() << '\n';
    return 2;
  }
}

}  // namespace network
