// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cmath>
#include <corescale/machine/clock.hpp>
#include <corescale/parallel_for/parallel_for.hpp>
#include <corescale/team/any_team.hpp>
#include <cstdio>
#include <optional>

#include "driver/arguments.hpp"
#include "driver/repeat.hpp"
#include "driver/result.hpp"
#include "unit_task/calibration.hpp"
#include "unit_task/in_turn.hpp"
#include "unit_task/loops.hpp"
#include "unit_task/taskflow.hpp"
#include "unit_task/timed_calls.hpp"

namespace {

using namespace unit_task;

/// The policy for which another library runs the loop.
const std::string taskflow = "taskflow";

/// The beginning of the help of an option that only the study's loop has.
constexpr std::string_view unit_task_mark = "unit-task:";

struct Request {
  std::string loop = "unit-task";
  std::string compute = "real";
  std::string buffers = "thread";
  Shape shape{.n = 0};
  std::string policy = "auto";
  std::uint64_t block = 0;
  std::string in_turn;
  std::string threading = "spin";
  std::string affinity = "fixed";
  std::size_t least_milliseconds = 1000;
  std::uint32_t pause = 0;

  double least_seconds() const { return static_cast<double>(least_milliseconds) / 1000; }
};

template <class Table>
std::vector<std::string> names(const Table& table) {
  std::vector<std::string> all;
  all.reserve(table.size());
  for (const auto& row : table) all.emplace_back(row.name);
  return all;
}

std::vector<std::string> present_systems() {
  std::vector<std::string> present;
  for (const corescale::threading_system& one : corescale::threading_systems())
    if (one.is_present()) present.emplace_back(one.name);
  return present;
}

const LoopRow& row_of(const Request& request) {
  return *std::ranges::find(loops, request.loop, &LoopRow::name);
}

[[noreturn]] void refuse(const std::string& what, const std::string& remedy) {
  throw driver::Error("unit_task", what, remedy);
}

void declare(driver::Arguments& arguments, Request& request) {
  constexpr std::uint64_t most = std::uint64_t{1} << 62;
  Shape& shape = request.shape;
  arguments.choice("loop", request.loop, names(loops), "the study's, or another of the family");
  arguments.integer<std::uint64_t>("n", shape.n, 0, most, "iterations; 0: the loop's own, 4096 of unit-task");
  arguments.integer<std::uint64_t>("read", shape.task.bytes_read, 0, most,
                                   "unit-task: bytes that a task reads: R");
  arguments.integer<std::uint64_t>("write", shape.task.bytes_written, 0, most,
                                   "unit-task: bytes that it writes: W");
  arguments.integer<std::uint64_t>("operations", shape.task.operations, 0, most,
                                   "unit-task: additions that it makes: C");
  arguments.choice("compute", request.compute, {"real", "published"},
                   "unit-task: published is the printed inner loop, which g++ folds away");
  arguments.choice("buffers", request.buffers, {"thread", "iteration", "shared"},
                   "unit-task: who has bytes of its own");
  std::vector<std::string> policies = names(corescale::block_policies());
  policies.push_back(taskflow);
  arguments.choice("policy", request.policy, policies,
                   "who chooses the block; taskflow: that library, with its own threads");
  arguments.integer<std::uint64_t>("block", request.block, 0, most, "iterations at once; makes auto fixed");
  arguments.text(
      "in-turn", request.in_turn, "LIST",
      "blocks and policies, as 1,16,auto: each is called in turn, and its fastest call and its mean printed");
  arguments.choice("threading", request.threading, present_systems(), "whose threads");
  arguments.integer<std::size_t>("threads", shape.threads, 1, 4096, "of the team");
  arguments.choice("affinity", request.affinity, {"fixed", "free"}, "fixed: each thread stays on its CPU");
  arguments.integer<std::size_t>("repeat-for", request.least_milliseconds, 0, 3'600'000,
                                 "milliseconds for which the loop is repeated");
  arguments.integer<std::uint32_t>("pause", request.pause, 0, 10'000,
                                   "milliseconds without a call before each, not timed: threads fall asleep");
}

/// Refuses sizes with which the program would not end, or would run out of memory.
void check_size(const Request& request) {
  const Shape& shape = request.shape;
  if (request.loop == "unit-task" && shape.compute == Compute::published && shape.task.bytes_read == 0)
    refuse("the published task divides by the bytes read", "give --read of at least 1, or --compute real");
  const auto n = static_cast<double>(shape.n);
  const Needs each = row_of(request).needs(shape);
  const double hours = n * each.ns / static_cast<double>(shape.threads) / 3.6e12;
  if (hours > 1)
    refuse("one loop would take about " + std::to_string(std::llround(std::min(hours, 1e15))) + " hours",
           "give fewer of --n or --operations");
  const double memory =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  if (n * each.bytes > memory / 2)
    refuse("what the loop reads and writes would take more than half of the machine's memory",
           "give fewer of --n, or fewer bytes to --read and --write");
}

/// Refuses options that would change nothing.
void check_use(const driver::Arguments& arguments, const Request& request) {
  if (request.loop != "unit-task")
    arguments.refuse_marked(unit_task_mark, "beside --loop " + request.loop,
                            "leave it out, or give --loop unit-task");
  if (!request.in_turn.empty() && (request.policy != "auto" || request.block > 0))
    refuse("--in-turn names blocks and policies itself", "leave out --policy and --block");
  if (!request.in_turn.empty() && request.pause > 0)
    refuse("--in-turn calls without a pause", "leave out --pause, or time one block or policy alone");
  const corescale::block_policy* const policy = corescale::find_block_policy(request.policy);
  if (policy && policy->needs_block && request.block == 0)
    refuse("--policy " + request.policy + " lacks its block", "give --block of at least 1");
  if (request.block > 0 && request.policy != "auto" && !(policy && policy->needs_block))
    refuse("--policy " + request.policy + " chooses its own block",
           "leave --block out, or give --policy fixed");
}

bool parse(int argc, char** argv, Request& request) {
  driver::Arguments arguments("unit_task",
                              "A loop over the threads of a team, in blocks (Shuai 2021).\n"
                              "It is repeated for a second and averaged; the team is made before.");
  declare(arguments, request);
  if (!arguments.parse(argc, argv)) return false;
  Shape& shape = request.shape;
  if (shape.n == 0) shape.n = row_of(request).n;
  if (request.loop != "unit-task" && shape.n > std::uint64_t{1} << 32)
    refuse("--loop " + request.loop + " keeps a result of each iteration", "give --n of at most 2^32");
  shape.compute = request.compute == "real" ? Compute::real : Compute::published;
  shape.buffers = request.buffers == "thread"      ? Buffers::thread
                  : request.buffers == "iteration" ? Buffers::iteration
                                                   : Buffers::shared;
  check_use(arguments, request);
  check_size(request);
  return true;
}

corescale::any_team make_team(const Request& request) {
  const bool pin = request.affinity == "fixed";
  corescale::any_team team = corescale::make_team(request.shape.threads, request.threading, {.pin = pin});
  if (!team)
    refuse(request.threading + " cannot hold " + std::to_string(request.shape.threads) + " threads" +
               (pin ? ", each on its CPU" : ""),
           pin ? "give --affinity free, or ask for fewer" : "ask for fewer");
  return team;
}

/// The longest time between a thread's first block and its last, over the mean of all: 1 is perfect balance.
double imbalance(const std::vector<corescale::loop_share>& shares, std::uint32_t threads) {
  double most = 0, all = 0;
  for (const corescale::loop_share& one : shares) {
    most = std::max(most, one.busy_ns);
    all += one.busy_ns;
  }
  return all > 0 ? most * threads / all : 1;
}

std::string computation(const Request& request) {
  if (request.loop != "unit-task") return "the loop's own";
  if (request.shape.compute == Compute::real) return "real";
  return operation_ns(request.shape) > 0 ? "published" : "published, folded away by the compiler";
}

void report_request(driver::Result& result, const Request& request) {
  const Shape& shape = request.shape;
  result.text("loop", request.loop);
  result.text("computation", computation(request));
  result.text("threading", request.policy == taskflow ? TaskflowLoop::version() : request.threading);
  result.metric("n", static_cast<double>(shape.n));
  result.metric("threads", static_cast<double>(shape.threads));
}

void report_times(driver::Result& result, const Request& request, const Timed& timed) {
  const auto n = static_cast<double>(request.shape.n);
  result.metric("seconds", timed.repeated.seconds);
  result.metric("least_seconds", timed.repeated.least_seconds);
  result.metric("repeats", static_cast<double>(timed.repeated.repeats));
  result.metric("first_seconds", timed.first_seconds);
  result.metric("ns_per_iteration", timed.repeated.seconds * 1e9 / n);
  result.metric("ticks", timed.ticks);
  result.metric("ticks_per_second", 1e9 / corescale::ns_per_tick());
}

void report_blocks(driver::Result& result, const corescale::loop_statistics& seen, double imbalance) {
  result.text("policy", seen.policy);
  result.metric("block", static_cast<double>(seen.block));
  result.metric("at_once",
                static_cast<double>(seen.block));  // the same, for a study with a factor named block
  result.metric("claims", static_cast<double>(seen.claims));
  result.metric("steals", static_cast<double>(seen.steals));
  result.metric("counters", seen.counters);
  result.metric("threads_used", seen.threads);
  result.metric("imbalance", imbalance);
  if (seen.clamped) result.text("clamped", "the formula gave no usable block");
}

/// The measurements of a loop. Taskflow's blocks are unknown.
struct Seen {
  std::uint64_t iterations = 0;  ///< of the last call
  std::optional<corescale::loop_statistics> blocks = std::nullopt;
  double imbalance = 0;
};

int report(const Request& request, const Loop& loop, const Timed& timed, const Seen& seen) {
  driver::Result result;
  report_request(result, request);
  report_times(result, request, timed);
  if (seen.blocks)
    report_blocks(result, *seen.blocks, seen.imbalance);
  else
    result.text("policy", taskflow);
  result.check("every_iteration_once", seen.iterations == request.shape.n);
  result.check("results_right", loop.is_right());
  corescale_work(static_cast<double>(request.shape.n) * static_cast<double>(timed.repeated.repeats));
  return result.print();
}

int run_taskflow(const Request& request, Loop& loop) {
  TaskflowLoop theirs(loop, request.shape.threads);
  const auto call = [&] { theirs.call(); };
  const Timed timed = time_calls(call, request.least_seconds(), std::chrono::milliseconds(request.pause));
  const std::uint64_t before = theirs.iterations();
  loop.reset();
  call();
  return report(request, loop, timed, {.iterations = theirs.iterations() - before});
}

int run_policy(const Request& request, Loop& loop) {
  corescale::any_team team = make_team(request);
  corescale::loop_options options{.block = request.block, .cost = loop.cost(), .name = "unit_task"};
  if (request.policy != "auto") options.policy = corescale::find_block_policy(request.policy);
  const auto one_call = [&] { call(team, loop, options); };
  const Timed timed = time_calls(one_call, request.least_seconds(), std::chrono::milliseconds(request.pause));

  // One more call, with a clock at each block and on fresh results, which show what it did.
  std::vector<corescale::loop_share> shares(request.shape.threads);
  corescale::loop_statistics blocks{.shares = shares};
  options.statistics = &blocks;
  loop.reset();
  one_call();

  Seen seen{.blocks = blocks, .imbalance = imbalance(shares, blocks.threads)};
  for (const corescale::loop_share& one : shares) seen.iterations += one.iterations;
  return report(request, loop, timed, seen);
}

int run_in_turn(const Request& request, Loop& loop) {
  std::vector<Contender> all = contenders(request.in_turn, loop.cost());
  corescale::any_team team = make_team(request);
  // Policies that learn are called by themselves first, because in a program there are no pauses between their calls.
  for (const Contender& one : all)
    driver::repeat([&] { call(team, loop, one.options); }, one.learns() ? warm_up_seconds : 0);
  corescale_region_begin("loops");
  take_turns(all, team, loop, request.least_seconds());
  corescale_region_end("loops");
  driver::Result result;
  report_request(result, request);
  result.metric("ticks_per_second", 1e9 / corescale::ns_per_tick());
  bool once = true, right = true;
  for (const Contender& one : all) report_turn(result, one, team, loop, once, right);
  result.check("every_iteration_once", once);
  result.check("results_right", right);
  return result.print();
}

int run(const Request& request) {
  check_calibration("unit_task");
  const std::unique_ptr<Loop> loop = row_of(request).make(request.shape);
  if (!request.in_turn.empty()) return run_in_turn(request, *loop);
  return request.policy == taskflow ? run_taskflow(request, *loop) : run_policy(request, *loop);
}

}  // namespace

int main(int argc, char** argv) {
  return driver::run("unit_task", [&] {
    Request request;
    return parse(argc, argv, request) ? run(request) : 0;
  });
}
