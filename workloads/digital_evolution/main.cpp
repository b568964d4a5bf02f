// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <fstream>

#include "digital_evolution/digital_evolution.hpp"
#include "driver/arguments.hpp"
#include "driver/memory.hpp"
#include "driver/openmp.hpp"
#include "driver/result.hpp"

namespace {

using digital_evolution::Options;
using digital_evolution::Outcome;

struct Request {
  Options options;
  bool account = false, owners = false;
  bool no_selection = false;
  std::string layout = "padded";
  std::string expected;
  std::string broken = "nothing";
};

bool parse(int argc, char** argv, Request& request) {
  Options& options = request.options;
  driver::Arguments arguments(
      "digital_evolution",
      "a torus of cells whose programs exchange messages, harvest, and breed.\n"
      "Threads are OpenMP's: OMP_NUM_THREADS, OMP_SCHEDULE (static where it is unset).");
  arguments.integer("generations", options.generations, 1, 1'000'000'000, "updates of each cell");
  arguments.integer("width", options.width, 1, 100'000, "cells in a row");
  arguments.integer("height", options.height, 1, 100'000, "rows");
  arguments.integer<std::uint64_t>("seed", options.seed, 0, ~std::uint64_t{0}, "of all that is drawn");
  arguments.integer("instructions-per-message", options.instructions_per_message, 1, 1'000'000,
                    "that a cell executes for each; the more, the smaller malloc's share of the time");
  arguments.flag("no-selection", request.no_selection, "births go by lot, not by resource");
  arguments.integer("badges", options.badges, 0, static_cast<int>(digital_evolution::Ancestors{}.size()),
                    "names of ancestors that a message carries: the more, the more allocations are of texts");
  arguments.choice(
      "layout", request.layout, {"padded", "owner", "master"},
      "of the cells: by their threads on lines of their own, by their threads, or by one thread");
  arguments.flag("account", request.account, "samples the threads and prints malloc's share of their time");
  arguments.flag("owners", request.owners, "prints what is freed by another thread than asked for it");
  arguments.text("expect-hash", request.expected, "HASH", "fails unless this is the state_hash");
  arguments.choice("break", request.broken, {"nothing", "messages", "resource"},
                   "takes one away at the end, to show that the check fails");
  if (!arguments.parse(argc, argv)) return false;
  options.selection = !request.no_selection;
  if (request.layout == "owner") options.layout = digital_evolution::Layout::owner;
  if (request.layout == "master") options.layout = digital_evolution::Layout::master;
  if (request.account && request.owners)
    throw driver::Error("digital_evolution", "--account and --owners count different things",
                        "give one of them");
  const std::string& hash = request.expected;
  if (!hash.empty() && (hash.size() != 16 || hash.find_first_not_of("0123456789abcdef") != std::string::npos))
    throw driver::Error("digital_evolution", "--expect-hash '" + hash + "' cannot be used",
                        "give the 16 hexadecimal digits of a state_hash");
  return true;
}

/// The peak of this program only. getrusage would also count the program that started it.
std::optional<double> peak_memory_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (double kilobytes = 0; word == "VmHWM:" && status >> kilobytes) return 1024 * kilobytes;
  return std::nullopt;
}

void report_account(const Request& request, const digital_evolution::Account& account, double updates,
                    driver::Result& result) {
  const auto allocations = static_cast<double>(account.allocations);
  if (request.account) {
    const double share = account.share(), samples = static_cast<double>(account.at_work);
    result.metric("malloc_share", share);
    result.metric("malloc_share_standard_error", std::sqrt(share * (1 - share) / samples));
  }
  if (request.owners) {
    const double elsewhere = static_cast<double>(account.freed_elsewhere);
    result.metric("freed_by_another_thread", elsewhere / static_cast<double>(account.freed));
  }
  result.metric("allocations_per_cell_update", allocations / updates);
  result.metric("bytes_per_allocation", static_cast<double>(account.bytes) / allocations);
}

int evolve(const Request& request) {
  const Options& options = request.options;
  const double least =
      static_cast<double>(options.cells() * sizeof(digital_evolution::Cell<driver::PlainHeap>));
  driver::must_have_memory(least, std::to_string(options.cells()) + " cells",
                           "give a smaller --width or --height");
  driver::choose_schedule("digital_evolution", driver::Schedule::blocks);  // neighbours stay with one thread
  const double updates = static_cast<double>(options.cells()) * options.generations;
  using digital_evolution::Count;
  const Count count = request.account ? Count::samples : request.owners ? Count::owners : Count::nothing;
  Outcome outcome = digital_evolution::evolve(options, count);
  digital_evolution::Tally& tally = outcome.tally;
  if (request.broken == "messages") --tally.received;
  if (request.broken == "resource") --tally.stock;

  const auto cells = static_cast<double>(options.cells());
  const std::string hash = driver::hexadecimal(outcome.state_hash);
  const auto fitness = [&](std::int64_t harvested) {
    return static_cast<double>(harvested) / (cells * options.window());
  };
  driver::Result result;
  result.text("state_hash", hash);
  result.metric("state", static_cast<double>(outcome.state_hash >> 11U));  // 53 bits, which a double has
  result.metric("seconds", outcome.seconds);
  result.metric("cell_updates_per_second", updates / outcome.seconds);
  result.metric("threads", outcome.threads);
  result.metric("peak_memory_bytes", peak_memory_bytes());
  result.metric("fitness_first", fitness(tally.harvested_first));
  result.metric("fitness_last", fitness(tally.harvested_last));
  result.metric("births", static_cast<double>(tally.births));
  result.metric("messages_sent", static_cast<double>(tally.sent));
  result.metric("messages_received", static_cast<double>(tally.received));
  result.metric("messages_dropped", static_cast<double>(tally.dropped));
  result.metric("messages_in_flight", static_cast<double>(tally.in_flight));
  result.metric("resource_harvested", static_cast<double>(tally.harvested));
  result.metric("resource_spent", static_cast<double>(tally.spent));
  if (count != Count::nothing) report_account(request, outcome.account, updates, result);
  result.check("messages_balance", tally.messages_balance());
  result.check("resource_balances", tally.resources_balance());
  if (!request.expected.empty()) result.check("state_hash_as_expected", request.expected == hash);
  corescale_work(updates);
  return result.print();
}

}  // namespace

int main(int argc, char** argv) {
  return driver::run("digital_evolution", [&] {
    Request request;
    return parse(argc, argv, request) ? evolve(request) : 0;
  });
}
