// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <sstream>

#include "claim_simulator/case_table.hpp"
#include "claim_simulator/run_case.hpp"
#include "claim_simulator/topology.hpp"
#include "driver/arguments.hpp"
#include "driver/result.hpp"

namespace {

using namespace claim_simulator;

struct Request {
  Case one;
  std::string cases;
  std::string topology;
  std::vector<std::string> numbers = std::vector<std::string>(quantities.size());
};

std::string text_of(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

bool parse(int argc, char** argv, Request& request) {
  driver::Arguments arguments(
      "claim_simulator",
      "Simulates a loop whose threads claim blocks, on a machine that need not be here.\n"
      "Blocks are divided by the library's own code; every time it prints is simulated.");
  for (const Choice& one : choices)
    arguments.choice(std::string(one.name), one.of(request.one), one.levels(), std::string(one.help));
  for (std::size_t i = 0; i < quantities.size(); ++i) {
    if (quantities[i].name != "threads") request.numbers[i] = text_of(quantities[i].of(request.one));
    arguments.text(std::string(quantities[i].name), request.numbers[i], "X", std::string(quantities[i].help));
  }
  arguments.text("topology", request.topology, "MACHINE",
                 "hwloc's description, as 'package:2 l3:1 core:24 pu:1': its L3 domains, and all its cores "
                 "unless --threads says fewer");
  arguments.text("cases", request.cases, "FILE",
                 "comma-separated: names as above, then a case a line; - is stdin");
  if (!arguments.parse(argc, argv)) return false;
  bool said_threads = false;
  for (std::size_t i = 0; i < quantities.size(); ++i) {
    if (request.numbers[i].empty()) continue;
    set(request.one, quantities[i], request.numbers[i], "claim_simulator");
    said_threads = said_threads || quantities[i].name == "threads";
  }
  if (!request.topology.empty()) place_on(request.one, request.topology, !said_threads);
  return true;
}

int run_one(const Case& one) {
  check(one, "claim_simulator");
  const Answer answer = run_case(one);
  const double n = one.n;
  driver::Result result;
  result.text("origin", "simulated");
  result.metric("simulated", 1);
  result.text("policy", one.policy == best_block ? best_block : policy_of(one).name);
  result.metric("seconds", answer.outcome.ns * 1e-9);
  result.metric("ns_per_iteration", answer.outcome.ns / n);
  result.metric("ideal_seconds", n * one.iteration_ns / one.threads * 1e-9);
  result.metric("waited_seconds", answer.outcome.waited_ns * 1e-9);
  result.metric("at_once", static_cast<double>(answer.plan.largest));
  result.metric("block", static_cast<double>(answer.plan.largest));
  result.metric("threads", one.threads);
  result.metric("l3_domains", one.l3_domains);
  result.metric("claims", static_cast<double>(answer.outcome.claims));
  result.metric("steals", static_cast<double>(answer.outcome.steals));
  result.metric("counters", answer.plan.counters);
  result.metric("threads_used", answer.plan.counters == 0 ? 1 : answer.plan.threads);
  corescale_work(n);
  return result.print();
}

int run_table(const Request& request) {
  std::ifstream file;
  const bool is_stdin = request.cases == "-";
  if (!is_stdin) file.open(request.cases);
  if (!is_stdin && (!file || std::filesystem::is_directory(request.cases)))
    refuse(request.cases, "cannot be read", "name a file of cases, or - for stdin");
  std::ostringstream table;  // printed whole or not at all
  table << "simulated_ns,waited_ns,block,claims,steals,counters\n" << std::setprecision(9);
  CaseTable(is_stdin ? std::cin : file, is_stdin ? "stdin" : request.cases, request.one)
      .each([&table](const Case& one) {
        const auto [outcome, plan] = run_case(one);
        table << outcome.ns << ',' << outcome.waited_ns << ',' << plan.largest << ',' << outcome.claims << ','
              << outcome.steals << ',' << plan.counters << '\n';
      });
  std::cout << table.str();
  return std::cout.flush().good() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  return driver::run("claim_simulator", [&] {
    Request request;
    if (!parse(argc, argv, request)) return 0;
    return request.cases.empty() ? run_one(request.one) : run_table(request);
  });
}
