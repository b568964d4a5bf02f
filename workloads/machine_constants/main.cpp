// SPDX-License-Identifier: Apache-2.0
#include <corescale/machine/topology.hpp>
#include <functional>
#include <iostream>
#include <map>

#include "driver/arguments.hpp"
#include "driver/result.hpp"
#include "machine_constants/forks.hpp"
#include "machine_constants/memory.hpp"
#include "unit_task/task.hpp"

namespace {

using namespace machine_constants;
using corescale::cpu_place;

/// Two CPUs of each class that this machine has.
struct PairClass {
  std::string name;
  cpu_place a, b;
};

std::string class_of(const cpu_place& a, const cpu_place& b) {
  if (a.core == b.core) return "smt";
  if (a.l3_domain == b.l3_domain) return "near";
  return a.socket == b.socket ? "far" : "socket";
}

std::vector<PairClass> pair_classes(const std::vector<cpu_place>& cpus) {
  std::map<std::string, PairClass> found;
  for (const cpu_place& other : cpus)
    if (other.cpu != cpus.front().cpu) {
      const std::string name = class_of(cpus.front(), other);
      found.try_emplace(name, PairClass{name, cpus.front(), other});
    }
  std::vector<PairClass> all;
  all.reserve(found.size());
  for (auto& [name, one] : found) all.push_back(one);
  return all;
}

/// One step of the calibration, and its message for the person who waits.
struct Step {
  std::string name;
  std::function<void(driver::Result&)> run;
};

void say(driver::Result& result, const std::string& name, const Quantity& found) {
  result.metric(name, found.value);
  result.metric("spread_" + name, found.spread);
}

void lines_between(driver::Result& result, const PairClass& one) {
  const Pair pair(one.a.cpu, one.b.cpu);
  const double execute = pair.claim_of(Pair::State::own).value;
  const double modified = pair.claim_of(Pair::State::modified).value;
  const double shared = pair.claim_of(Pair::State::shared).value;
  const Quantity handed = pair.handed();
  say(result, "line_" + one.name, pair.travel());
  say(result, "claim_contended_" + one.name, pair.contended());
  say(result, "claim_handed_" + one.name, handed);
  result.metric("acquire_modified_" + one.name, modified - execute);
  result.metric("acquire_shared_" + one.name, shared - execute);
  result.metric("other_" + one.name, handed.value - shared);  // L - R - E
}

void caches(driver::Result& result) {
  const auto level = [&](const char* name, long bytes, long beyond) {
    if (bytes > beyond) say(result, name, chase(static_cast<std::size_t>(beyond + (bytes - beyond) / 2)));
  };
  const long l1 = sysconf(_SC_LEVEL1_DCACHE_SIZE), l2 = sysconf(_SC_LEVEL2_CACHE_SIZE),
             l3 = sysconf(_SC_LEVEL3_CACHE_SIZE);
  level("l1_ns", l1, 0);
  level("l2_ns", l2, l1);
  level("l3_ns", std::min(l3, 8 * l2), l2);
  constexpr std::size_t beyond_caches = 128 << 20;
  say(result, "memory_ns", chase(beyond_caches));
}

void bytes_and_operations(driver::Result& result) {
  std::vector<std::uint8_t> room(2048, 1);
  const unit_task::Task task{1024, 1024, 1024};
  std::vector<double> seen(51);
  for (double& one : seen)
    one = ns_of_each(100, [&] {
      for (int call = 0; call < 100; ++call)
        unit_task::run_task<unit_task::Compute::published, unit_task::OwnMemory>(task, room.data(),
                                                                                 room.data() + 1024);
    });
  say(result, "byte", typical(seen).scaled(1.0 / 2048));
  result.metric("operation", unit_task::ns_per_operation<unit_task::Compute::real>());
}

void forks(driver::Result& result, std::size_t threads) {
  corescale::any_team team = pinned_team(threads);
  const Quantity two = fork_hot(team, 2);
  say(result, "fork_hot", two);
  if (threads > 2)
    result.metric("fork_thread", std::max(1.0, (fork_hot(team, threads).value - two.value) /
                                                   static_cast<double>(threads - 2)));
  say(result, "fork_cold", fork_cold(team, 2));
}

std::vector<Step> steps(const corescale::topology& machine) {
  const std::vector<cpu_place> cpus = machine.usable();
  std::vector<Step> all{{"clock", [](driver::Result& result) { result.metric("clock_ghz", 1 / cycle_ns()); }},
                        {"claims", [](driver::Result& result) { say(result, "claim_own", claim_alone()); }},
                        {"bytes and operations", bytes_and_operations},
                        {"caches", caches},
                        {"memory bandwidth", [](driver::Result& result) {
                           say(result, "bytes_per_ns", bandwidth(std::size_t{64} << 20));
                         }}};
  for (const PairClass& one : pair_classes(cpus))
    all.push_back({"lines between cores (" + one.name + ")",
                   [one](driver::Result& result) { lines_between(result, one); }});
  if (machine.most_threads > 1)
    all.push_back({"fork and join", [threads = std::min(machine.most_threads, cpus.size())](
                                        driver::Result& result) { forks(result, threads); }});
  return all;
}

int run() {
  const corescale::topology& machine = corescale::this_machine();
  const std::vector<Step> all = steps(machine);
  pin(machine.usable().front().cpu);
  driver::Result result;
  for (std::size_t k = 0; k < all.size(); ++k) {
    std::cerr << "step " << k + 1 << " of " << all.size() << ": " << all[k].name << std::endl;
    all[k].run(result);
  }
  return result.print();
}

}  // namespace

int main(int argc, char** argv) {
  return driver::run("machine_constants", [&] {
    driver::Arguments arguments(
        "machine_constants",
        "Measures what block policies need to know of this machine, in nanoseconds; spread_NAME is what the\n"
        "middle half of the runs differ by, over the value.");
    return arguments.parse(argc, argv) ? run() : 0;
  });
}
