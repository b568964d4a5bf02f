// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <corescale/memory/thread_alloc.hpp>
#include <corescale/team/any_team.hpp>
#include <iostream>
#include <memory>
#include <thread>
#include <variant>

#include "driver/arguments.hpp"
#include "driver/repeat.hpp"
#include "driver/result.hpp"
#include "multi_newton/cppad.hpp"
#include "multi_newton/derivatives.hpp"
#include "multi_newton/functions.hpp"
#include "multi_newton/study_alloc.hpp"
#include "multi_newton/tight_loop.hpp"

namespace {

using namespace multi_newton;

struct Request {
  std::string function = "sine";
  std::size_t terms = 100;
  std::size_t zeros = 500;
  std::size_t intervals = 5000;
  int steps = 20;
  std::string derivative = "study-tape";
  std::string memory = "per_thread";
  std::string threading = "spin";
  std::size_t threads = 1;
  std::size_t least_milliseconds = 1000;
  bool sleeper = false;
};

template <class Meaning>
struct named {
  const char* name;
  Meaning meaning;
};

template <class Table>
std::vector<std::string> names_of(const Table& table) {
  std::vector<std::string> names;
  names.reserve(table.size());
  for (const auto& one : table) names.emplace_back(one.name);
  return names;
}

/// The meaning of a level, which is a name in the table.
template <class Table>
auto chosen(const Table& table, const std::string& level) {
  return std::find_if(table.begin(), table.end(), [&](const auto& one) { return one.name == level; })
      ->meaning;
}

std::vector<std::string> systems() {
  std::vector<std::string> names{"none"};
  for (const corescale::threading_system& one : corescale::threading_systems())
    if (one.is_present()) names.emplace_back(one.name);
  return names;
}

struct Found {
  std::vector<Zero> zeros;
  driver::Repeated timed;
  std::size_t evaluations;
};

corescale::any_team make_team(const Request& request) {
  corescale::any_team team = corescale::make_team(request.threads, request.threading);
  if (!team)
    throw driver::Error("multi_newton",
                        request.threading + " cannot hold " + std::to_string(request.threads) + " threads",
                        "ask for fewer");
  return team;
}

/// Repeats for the time that was asked for: the master calls `divide` and `combine`, and between them each thread of the team calls
/// worker(m).
driver::Repeated repeat(const Request& request, corescale::function_ref<void()> divide,
                        corescale::worker_ref worker, corescale::function_ref<void()> combine) {
  corescale::any_team team = request.threading == "none" ? corescale::any_team() : make_team(request);
  const auto once = [&] {
    corescale_region_begin("repeat");
    divide();
    if (!team)
      worker(0);
    else if (const auto worked = team.work(worker); worked != corescale::outcome::done)
      throw std::logic_error(corescale::name(worked));
    combine();
    corescale_region_end("repeat");
  };
  return driver::repeat(once, static_cast<double>(request.least_milliseconds) / 1000);
}

/// make_evaluator(m) is what thread m of the team differentiates by; `begin` and `end` are the master's, around the team's work.
template <class Alloc, class MakeEvaluator, class Begin, class End>
Found solve(const Request& request, const Problem& problem, MakeEvaluator make_evaluator, Begin begin,
            End end) {
  Found found{};
  MultiNewton<Alloc> method(problem, request.threads);
  found.timed = repeat(
      request, [&] { method.divide(), begin(); }, [&](std::size_t m) { method.search(m, make_evaluator(m)); },
      [&] { end(), method.combine(found.zeros); });
  found.evaluations = method.evaluations();
  return found;
}

/// Finds all zeros of a function, with one kind of derivative and one allocator.
template <class Function>
using Method = Found (*)(const Request& request, const Function& f, const Problem& problem);

template <class Function, class Alloc, class Evaluator>
Found solve_by(const Request& request, const Function& f, const Problem& problem) {
  return solve<Alloc>(
      request, problem, [&](std::size_t) { return Evaluator{f}; }, [] {}, [] {});
}

template <class Function, class Alloc, bool Hold>
Found solve_by_cppad(const Request& request, const Function& f, const Problem& problem) {
  cppad::Session session(request.threads, Hold);
  const auto make_evaluator = [&](std::size_t m) {
    cppad::Session::enter(m);
    return [&f](double x) { return cppad::differentiate(f, x); };
  };
  return solve<Alloc>(
      request, problem, make_evaluator, [&] { session.begin(); }, [&] { session.end(); });
}

template <class Function, class Alloc>
constexpr std::array derivatives{
    named<Method<Function>>{"hand", solve_by<Function, Alloc, ByHand<Function>>},
    named<Method<Function>>{"hand-opaque", solve_by<Function, Alloc, ByHand<Function>>},
    named<Method<Function>>{"tape", solve_by<Function, Alloc, Taped<Function, Alloc>>},
    named<Method<Function>>{"tape-forward", solve_by<Function, Alloc, TapedForward<Function, Alloc>>},
    named<Method<Function>>{"study-tape", solve_by<Function, Alloc, StudyTaped<Function, Alloc>>},
    named<Method<Function>>{"replay", solve_by<Function, Alloc, Replayed<Function, Alloc>>},
    named<Method<Function>>{"cppad", solve_by_cppad<Function, Alloc, true>},
    named<Method<Function>>{"cppad-unheld", solve_by_cppad<Function, Alloc, false>},
};

template <class Alloc>  // Only by hand: for the other derivatives, opacity makes no difference.
constexpr std::array derivatives<Sine<true>, Alloc>{
    named<Method<Sine<true>>>{"hand-opaque", solve_by<Sine<true>, Alloc, ByHand<Sine<true>>>}};

template <class Function, class Alloc>
Found differentiate(const Request& request, const Function& f, const Problem& problem) {
  return chosen(derivatives<Function, Alloc>, request.derivative)(request, f, problem);
}

template <class Function>
constexpr std::array memories{
    named<Method<Function>>{"per_thread", differentiate<Function, corescale::thread_alloc>},
    named<Method<Function>>{"contiguous", differentiate<Function, StudyAlloc<Contiguous>>},
    named<Method<Function>>{"separate", differentiate<Function, StudyAlloc<Separate>>},
    named<Method<Function>>{"system", differentiate<Function, StudyAlloc<System>>},
    named<Method<Function>>{"bare", differentiate<Function, BareAlloc>},
};

/// Whether each known zero, and no other, was found within twice epsilon divided by the slope there; and the largest distance.
struct Checked {
  bool all = false;
  double farthest = 0;
};

template <class Function>
Checked check(const std::vector<Zero>& zeros, const Function& f, const Problem& problem) {
  const std::vector<double> known = f.known();
  Checked result{zeros.size() == known.size()};
  for (std::size_t z = 0; result.all && z < known.size(); ++z) {
    const double distance = std::abs(zeros[z].x - known[z]);
    const double rounding = 4 * machine_epsilon * std::abs(known[z]);
    result.all = distance <= 2 * problem.epsilon / std::abs(f.by_hand(known[z]).derivative) + rounding;
    result.farthest = std::max(result.farthest, distance);
  }
  return result;
}

void report(const Request& request, const driver::Repeated& timed, driver::Result& result) {
  result.text("derivative", request.derivative);
  result.text("memory", request.memory);
  result.text("threading", request.threading);
  result.metric("threads", static_cast<double>(request.threads));
  result.metric("seconds", timed.seconds);
  result.metric("repeats", static_cast<double>(timed.repeats));
}

template <class Function>
int run(const Request& request, const Function& f) {
  const Problem problem = f.problem(request.intervals, request.steps);
  const Found found = chosen(memories<Function>, request.memory)(request, f, problem);
  const Checked checked = check(found.zeros, f, problem);
  driver::Result result;
  report(request, found.timed, result);
  result.metric("evaluations", static_cast<double>(found.evaluations));
  result.metric("zeros", static_cast<double>(found.zeros.size()));
  result.metric("farthest", checked.farthest);
  result.check("all_zeros_found", checked.all);
  if (!checked.all)
    std::cerr << "multi_newton: found " << found.zeros.size() << " zeros, which are not the "
              << f.known().size()
              << " that there are within their tolerance; give more --intervals or --steps\n";
  corescale_work(static_cast<double>(found.evaluations) * static_cast<double>(found.timed.repeats));
  return result.print();
}

/// The value of `--derivative` with which nothing is differentiated.
constexpr const char* pairs = "pairs";

using Loop = void (*)(std::size_t);
constexpr std::array loops{
    named<Loop>{"per_thread", get_and_return<corescale::thread_alloc>},
    named<Loop>{"contiguous", get_and_return<StudyAlloc<Contiguous>>},
    named<Loop>{"separate", get_and_return<StudyAlloc<Separate>>},
    named<Loop>{"system", get_and_return<StudyAlloc<System>>},
    named<Loop>{"bare", get_and_return<BareAlloc>},
};

int run_pairs(const Request& request) {
  const driver::Repeated timed = repeat(
      request, [] {}, chosen(loops, request.memory), [] {});
  driver::Result result;
  report(request, timed, result);
  result.metric("nanoseconds_each", timed.seconds * 1e9 / static_cast<double>(num_pairs));
  return result.print();
}

constexpr std::array functions{
    named<int (*)(const Request&)>{"sine",
                                   [](const Request& request) {
                                     if (request.derivative == "hand-opaque")
                                       return run(request, Sine<true>{request.terms, request.zeros});
                                     return run(request, Sine<false>{request.terms, request.zeros});
                                   }},
    named<int (*)(const Request&)>{"chebyshev",
                                   [](const Request& request) { return run(request, Chebyshev{}); }},
    named<int (*)(const Request&)>{"bessel", [](const Request& request) { return run(request, BesselJ0{}); }},
};

std::vector<std::string> ways() {
  std::vector<std::string> names = names_of(derivatives<Chebyshev, corescale::thread_alloc>);
  names.emplace_back(pairs);
  return names;
}

bool parse(int argc, char** argv, Request& request) {
  driver::Arguments arguments(
      "multi_newton",
      "All zeros of a function in an interval, by Newton's method on sub-intervals (Bell and Hepperger "
      "2012).\n"
      "Division, search and combination are repeated for a second and averaged; teams are made before.");
  arguments.choice("function", request.function, names_of(functions),
                   "mean of --terms equal sines; polynomial of degree 20; J0");
  arguments.integer<std::size_t>("terms", request.terms, 1, 100'000'000, "of sine: N");
  arguments.integer<std::size_t>("zeros", request.zeros, 2, 1'000'000, "of sine: Z, within [0, (Z - 1) pi]");
  arguments.integer<std::size_t>("intervals", request.intervals, 1, 100'000'000,
                                 "J; zeros are farther apart than one is long");
  arguments.integer("steps", request.steps, 1, 10'000, "of Newton's method in an interval: K");
  arguments.choice("derivative", request.derivative, ways(),
                   "by hand (opaque: no term is saved by the compiler); by a new recording at each point; by "
                   "one recording; by CppAD, where the build has it, which holds returned memory or not. "
                   "pairs: no zeros, each thread gets and returns memory 100,000 times");
  arguments.choice(
      "memory", request.memory, names_of(memories<Chebyshev>),
      "allocator for tapes and zeros: the library's, or a version of the study; bare: malloc alone");
  arguments.choice("threading", request.threading, systems(), "none: no system, and one thread");
  arguments.integer<std::size_t>("threads", request.threads, 1, 65'536, "of the team");
  arguments.integer<std::size_t>("repeat-for", request.least_milliseconds, 0, 3'600'000,
                                 "milliseconds for which the whole is repeated");
  arguments.flag("sleeper", request.sleeper,
                 "beside the team a thread sleeps: else glibc takes no lock where the team is one thread");
  if (!arguments.parse(argc, argv)) return false;
  if (request.threading == "none" && request.threads > 1)
    throw driver::Error(
        "multi_newton",
        "without a threading system there is one thread, not " + std::to_string(request.threads),
        "give --threads 1, or a system");
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  return driver::run("multi_newton", [&] {
    Request request;
    if (!parse(argc, argv, request)) return 0;
    if (request.sleeper)
      std::thread([] {
        std::this_thread::sleep_until(std::chrono::steady_clock::time_point::max());
      }).detach();
    return request.derivative == pairs ? run_pairs(request) : chosen(functions, request.function)(request);
  });
}
