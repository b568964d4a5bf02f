// SPDX-License-Identifier: Apache-2.0
#include "corescale/parallel_for/detail/run_loop.hpp"

#include <algorithm>
#include <string_view>

#include "call_site.hpp"
#include "core_groups.hpp"
#include "corescale/machine/clock.hpp"
#include "corescale/parallel_for/block_policy.hpp"
#include "loop_run.hpp"
#include "policies/fork_ns.hpp"
#include "wake_times.hpp"

namespace corescale::inline v0::detail {
namespace {

// From here on the clock costs nothing to speak of, and a loop may change while it runs.
constexpr double always_timed_ns = 1e6;

constinit wake_times wakes;

std::uint64_t named_site(const char* name) noexcept { return std::hash<std::string_view>()(name) | 1; }

std::uint32_t most_threads(const team_ref& team, const loop_options& options, std::uint64_t n) noexcept {
  const std::uint64_t wanted = options.max_threads > 0 ? options.max_threads : team.num_threads;
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(
      std::min<std::uint64_t>(wanted, team.num_threads), 1, std::min<std::uint64_t>(n, 1U << 20)));
}

loop_description describe(const team_ref& team, std::uint64_t n, const loop_options& options,
                          const loop_record* record) {
  const core_groups& groups = usable_core_groups();
  loop_description loop{.n = n,
                        .threads = most_threads(team, options, n),
                        .cores = groups.cores(),
                        .core_groups = groups.count(),
                        .block = options.block,
                        .cost = options.cost,
                        .machine = machine_calibration()};
  if (record) {
    loop.iteration_ns = record->iteration_ns.load(std::memory_order_relaxed);
    loop.spread = record->spread.load(std::memory_order_relaxed);
    loop.hot = record->is_visited_often();
    if (!loop.hot) loop.wake_times = wakes.of({team.team, team.num_threads});
    if (!record->may_fork()) loop.threads = 1;
  }
  return loop;
}

void run_alone(std::uint64_t n, const loop_body& body, loop_record* record, loop_statistics* statistics) {
  const std::uint64_t start = ticks();
  body(0, n);
  const double elapsed = static_cast<double>(ticks() - start) * ns_per_tick();
  if (record) record->learn(elapsed / static_cast<double>(n), record->spread.load(std::memory_order_relaxed));
  if (!statistics) return;
  statistics->iterations = n;
  statistics->block = n;
  statistics->claims = 1;
  statistics->threads = 1;
  statistics->counters = 0;
  statistics->elapsed_ns = elapsed;
  if (!statistics->shares.empty()) statistics->shares.front() = {n, 1, 0, 0, elapsed};
}

void run_timed(const team_ref& team, const loop_description& loop, const loop_plan& plan,
               const loop_body& body, loop_record* record, loop_statistics* statistics) {
  timed_loop run(loop, plan, body, statistics);
  // Those tell who are told. A first call may be late for other reasons, and where calls follow closely one sleeper among many,
  // or a team that always says that it sleeps, would tell of next to nothing.
  const bool tells = loop.iteration_ns > 0 && !loop.hot && plan.threads > 1 && team.asleep(plan.threads);
  if (!run.run(team)) return run_alone(loop.n, body, record, statistics);
  const double elapsed = run.elapsed_ns();
  const loop_times times = run.times();
  const double mean = times.mean() * ns_per_tick();
  if (record) {
    const bool believed = record->learn(mean, times.spread());
    if (believed && !plan.adapt) record->learn_gain(elapsed, mean * static_cast<double>(loop.n));
  }
  if (tells)
    wakes.learn({team.team, team.num_threads},
                run.fork_join_ns() / policies::fork_ns(loop.machine.fork_cold, plan.threads, loop.machine));
  if (statistics) run.report(*statistics);
}

void clear(loop_statistics& statistics, const char* policy) {
  std::fill(statistics.shares.begin(), statistics.shares.end(), loop_share{});
  statistics = {.shares = statistics.shares, .policy = policy};
}

void run_planned(const team_ref& team, const loop_description& loop, const loop_plan& plan,
                 const loop_body& body, const loop_options& options, loop_record* record, bool sampled) {
  const bool timed = sampled || options.statistics || plan.adapt ||
                     loop.iteration_ns * static_cast<double>(loop.n) > always_timed_ns;
  if (record && plan.counters == 0 && most_threads(team, options, loop.n) > 1)  // not for want of threads
    record->alone_up_to.store(loop.n, std::memory_order_relaxed);
  if (timed && plan.counters > 0) return run_timed(team, loop, plan, body, record, options.statistics);
  if (timed) return run_alone(loop.n, body, record, options.statistics);
  if (plan.counters == 0 || !plain_loop(loop.n, plan, body).run(team)) body(0, loop.n);
}

// What kept a loop alone, where it was what waking was told to take.
void doubt_what_waking_takes(const team_ref& team, const block_policy& policy, loop_description loop) {
  loop.wake_times = 1;
  if (policy.plan(loop).counters > 0) wakes.doubt({team.team, team.num_threads});
}

}  // namespace

void run_loop(const team_ref& team, std::uint64_t n, const loop_body& body, const loop_options& options,
              std::uint64_t site) {
  const block_policy& policy = options.policy ? *options.policy : usual_block_policy(options.block);
  if (options.statistics) clear(*options.statistics, policy.name.data());
  if (n == 0) return;
  loop_record* const record =
      policy.learns ? find_record(options.name ? named_site(options.name) : site) : nullptr;
  if (record && options.after_pause) record->forget_interval();
  const bool sampled = record && record->begin_call();
  if (record && n <= record->alone_up_to.load(std::memory_order_relaxed) && !options.statistics)
    return body(0, n);
  if (sampled) record->learn_interval(ticks());
  const loop_description loop = describe(team, n, options, record);
  loop_plan plan = policy.plan(loop);
  plan.threads = std::clamp(plan.threads, 1U, loop.threads);
  if (sampled && plan.counters == 0 && loop.wake_times > 1) doubt_what_waking_takes(team, policy, loop);
  run_planned(team, loop, plan, body, options, record, sampled);
}

}  // namespace corescale::detail
