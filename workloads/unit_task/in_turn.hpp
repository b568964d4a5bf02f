// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <charconv>
#include <chrono>
#include <corescale/parallel_for/block_policy.hpp>
#include <corescale/parallel_for/parallel_for.hpp>
#include <corescale/team/any_team.hpp>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "driver/error.hpp"
#include "driver/random.hpp"
#include "driver/repeat.hpp"
#include "driver/result.hpp"
#include "unit_task/loop.hpp"

// Several blocks and policies in one process, visited in turn for half a millisecond each. A disturbance that lasts longer, such as a
// neighbour on the same physical core, then affects all of them equally. If each had its own launch, it would affect single ones.
namespace unit_task {

/// A block, or a policy that chooses one, and the times of its calls of a loop.
struct Contender {
  std::string name;
  corescale::loop_options options;
  double least_seconds = std::numeric_limits<double>::max();  ///< time of the fastest call
  double seconds = 0;                                         ///< time of all calls
  long calls = 0;

  bool learns() const {
    return (options.policy ? *options.policy : corescale::usual_block_policy(options.block)).learns;
  }
};

/// One of "1,16,auto". Throws driver::Error.
inline Contender contender(std::string_view name, const corescale::loop_cost& cost) {
  corescale::loop_options options{.cost = cost, .name = "unit_task"};
  const auto [end, fault] = std::from_chars(name.data(), name.data() + name.size(), options.block);
  const bool is_number = fault == std::errc{} && end == name.data() + name.size();
  const corescale::block_policy* const policy = is_number ? nullptr : corescale::find_block_policy(name);
  if (is_number ? options.block == 0 : !policy || policy->needs_block)
    throw driver::Error("unit_task", "--in-turn '" + std::string(name) + "' is no block and no policy",
                        "give blocks above 0 and policies that choose one, as 1,16,auto");
  if (policy && policy != corescale::block_policies().data())
    options.policy = policy;  // the first one is the default
  return {.name = std::string(name), .options = options};
}

inline std::vector<Contender> contenders(std::string_view list, const corescale::loop_cost& cost) {
  std::vector<Contender> all;
  for (std::size_t comma = 0; comma != std::string_view::npos; list.remove_prefix(comma + 1)) {
    comma = list.find(',');
    const std::string_view name = list.substr(0, comma);
    if (std::ranges::find(all, name, &Contender::name) != all.end())
      throw driver::Error("unit_task", "--in-turn '" + std::string(name) + "' is given twice",
                          "give each once");
    all.push_back(contender(name, cost));
    if (comma == std::string_view::npos) break;
  }
  return all;
}

inline void call(corescale::any_team& team, Loop& loop, const corescale::loop_options& options) {
  corescale::parallel_for_blocks(
      team, std::uint64_t{0}, loop.size(), [&](auto begin, auto end) { loop.run(begin, end); }, options);
}

/// Calls a contender for its turn. It marks a pause, because a policy that learns must not take the other contenders' time for the time
/// between its calls.
inline void visit(Contender& one, corescale::any_team& team, Loop& loop) {
  constexpr double visit_seconds = 0.5e-3;
  corescale::loop_options options = one.options;
  options.after_pause = true;
  const auto visit_call = [&] {
    call(team, loop, options);
    options.after_pause = false;
  };
  const driver::Repeated found = driver::repeat(visit_call, visit_seconds);
  one.least_seconds = std::min(one.least_seconds, found.least_seconds);
  one.seconds += found.seconds * static_cast<double>(found.repeats);
  one.calls += found.repeats;
}

/// Makes rounds in which each is visited once, in a new random order, until `least` seconds have passed; at least one round.
inline void take_turns(std::vector<Contender>& all, corescale::any_team& team, Loop& loop, double least) {
  driver::Random draw(1, 0, 0);
  const auto start = std::chrono::steady_clock::now();
  do {
    std::vector<Contender*> order;
    order.reserve(all.size());
    for (Contender& one : all) order.push_back(&one);
    for (std::size_t i = order.size() - 1; i > 0; --i) std::swap(order[i], order[draw.bits() % (i + 1)]);
    for (Contender* one : order) visit(*one, team, loop);
  } while (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() < least);
}

/// Reports the times of one contender. Then calls it once more on fresh results, which show what it did.
inline void report_turn(driver::Result& result, const Contender& one, corescale::any_team& team, Loop& loop,
                        bool& once, bool& right) {
  std::vector<corescale::loop_share> shares(team.num_threads());
  corescale::loop_statistics seen{.shares = shares};
  corescale::loop_options options = one.options;
  options.statistics = &seen;
  options.after_pause = true;
  loop.reset();
  call(team, loop, options);
  std::uint64_t iterations = 0;
  for (const corescale::loop_share& share : shares) iterations += share.iterations;
  once = once && iterations == loop.size();
  right = right && loop.is_right();
  result.metric("least_" + one.name, one.least_seconds);
  result.metric("mean_" + one.name, one.seconds / static_cast<double>(one.calls));
  result.metric("at_once_" + one.name, static_cast<double>(seen.block));
  result.metric("threads_used_" + one.name, static_cast<double>(seen.threads));
}

}  // namespace unit_task
