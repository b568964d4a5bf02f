// SPDX-License-Identifier: Apache-2.0 (more than 300 lines: one loop from the call to the return, compiled as one)
#include "corescale/parallel_for/detail/loop.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <string_view>
#include <vector>

#include "corescale/machine/affinity.hpp"
#include "corescale/machine/cache_line.hpp"
#include "corescale/machine/clock.hpp"
#include "corescale/machine/made_once.hpp"
#include "corescale/machine/topology.hpp"
#include "corescale/parallel_for/block_policy.hpp"
#include "corescale/team/calling_thread.hpp"
#include "learned.hpp"
#include "lone_caller.hpp"
#include "policies.hpp"
#include "recording.hpp"
#include "shared_ranges.hpp"

// One loop, from the call to the return: its record, its plan, and the threads that run it.
namespace corescale::inline v0::detail {
namespace {

/// The L3 domains of this machine, numbered from 0.
class core_groups {
 public:
  explicit core_groups(const topology& machine) {
    std::map<int, std::uint32_t> numbers;
    for (const cpu_place& one : machine.usable())
      numbers.try_emplace(one.l3_domain, static_cast<std::uint32_t>(numbers.size()));
    count_ = std::max(1U, static_cast<std::uint32_t>(numbers.size()));
    for (const cpu_place& one : machine.cpus) {
      const auto cpu = static_cast<std::size_t>(one.cpu);
      of_cpu_.resize(std::max(of_cpu_.size(), cpu + 1), 0);
      const auto known = numbers.find(one.l3_domain);
      of_cpu_[cpu] = known == numbers.end() ? 0 : known->second;
    }
  }

  /// Among the CPUs that the process may use.
  std::uint32_t count() const noexcept { return count_; }

  /// The domain of the CPU that the calling thread runs on now; 0 without a look if there is only one domain.
  std::uint32_t here() const noexcept {
    if (count_ == 1) return 0;
    const auto cpu = static_cast<std::size_t>(sched_getcpu());
    return cpu < of_cpu_.size() ? of_cpu_[cpu] : 0;
  }

 private:
  std::vector<std::uint32_t> of_cpu_;
  std::uint32_t count_ = 1;
};

/// Reads sysfs and not hwloc, because the first loop waits for it.
const core_groups& usable_core_groups() {
  constinit static made_once<core_groups> groups;
  return groups.get([] {
    const affinity_of_process meanwhile;
    return core_groups(topology::here_by_sysfs());
  });
}

/// False if no memory is left to read the machine; a later loop tries again.
bool machine_is_known() {
  try {
    usable_core_groups();
    machine_calibration();
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

/// One loop that a team runs, without a clock. It is on the caller's stack, and is itself the worker, so that a thread reads one cache line
/// before its first block.
class alignas(cache_line) plain_loop {
 public:
  plain_loop(std::uint64_t n, const loop_plan& plan, const loop_body& body) noexcept
      : body_(body), ranges_(n, plan, counters_), n_(n) {
    static_assert(sizeof(body_) + sizeof(ranges_) <= cache_line);
  }

  /// False when the team refused, and nothing was run.
  bool run(const team_ref& team) { return team.work(ranges_.threads(), *this); }

  void operator()(std::size_t id);

 private:
  const loop_body body_;
  shared_ranges ranges_;
  const std::uint64_t n_;  // read only if a unit is more than one iteration
  range_counters counters_;
};

/// The same with a clock: it learns the times of blocks, and can adjust their size while it runs.
class timed_loop {
 public:
  timed_loop(const loop_description& loop, const loop_plan& plan, const loop_body& body,
             loop_statistics* statistics) noexcept;

  bool run(const team_ref& team);

  double elapsed_ns() const noexcept;

  /// The times of all threads together, in ticks.
  loop_times times() const noexcept;

  void report(loop_statistics& statistics) const noexcept;

 private:
  struct alignas(cache_line) seen {
    loop_times times;
    std::uint64_t largest = 0;
  };

  // Further threads are not timed, because their blocks take about as long as the others'.
  static constexpr std::uint32_t most_listened = 64;

  void work(std::uint32_t id);
  void adapt(shared_ranges::member& me, std::uint64_t iterations, std::uint64_t ticks) const noexcept;
  std::uint32_t listened() const noexcept { return std::min(plan_.threads, most_listened); }

  const loop_description& loop_;
  const loop_plan plan_;
  const loop_body body_;
  loop_statistics* const statistics_;
  const double tick_ns_;
  std::uint64_t start_ = 0;
  std::uint64_t end_ = 0;
  std::atomic<std::uint64_t> claims_{0};
  std::atomic<std::uint64_t> steals_{0};
  shared_ranges ranges_;
  range_counters counters_;
  union {
    std::array<seen, most_listened> seen_;
  };
};

struct iterations {
  std::uint64_t begin, end;
};

// The last unit may be cut; its end may lie beyond 2^64.
iterations iterations_of(const unit_block& block, const shared_ranges& ranges,
                         const std::uint64_t& n) noexcept {
  if (ranges.shift() == 0) return {block.begin, block.end};
  return {block.begin << ranges.shift(), block.end == ranges.units() ? n : block.end << ranges.shift()};
}

// If a block takes less than this, the clock and the claim are a large part of the measured time.
constexpr double long_enough_ns = 1000;

void plain_loop::operator()(std::size_t id) {
  shared_ranges::member me = ranges_.join(static_cast<std::uint32_t>(id), usable_core_groups().here());
  unit_block block;
  try {
    while (ranges_.next(me, block)) {
      const auto [begin, end] = iterations_of(block, ranges_, n_);
      body_(begin, end);
    }
  } catch (...) {
    ranges_.stop();
    throw;
  }
}

timed_loop::timed_loop(const loop_description& loop, const loop_plan& plan, const loop_body& body,
                       loop_statistics* statistics) noexcept
    : loop_(loop),
      plan_(plan),
      body_(body),
      statistics_(statistics),
      tick_ns_(ns_per_tick()),
      ranges_(loop.n, plan, counters_) {
  for (std::uint32_t id = 0; id < listened(); ++id) std::construct_at(&seen_[id]);
}

bool timed_loop::run(const team_ref& team) {
  start_ = ticks();
  const bool ran = team.work(plan_.threads, [this](std::size_t id) { work(static_cast<std::uint32_t>(id)); });
  end_ = ticks();
  return ran;
}

void timed_loop::work(std::uint32_t id) {
  shared_ranges::member me = ranges_.join(id, usable_core_groups().here());
  loop_times times;
  unit_block block;
  const std::uint64_t first = ticks();
  std::uint64_t last = first, largest = 0;
  try {
    while (ranges_.next(me, block)) {
      largest = std::max(largest, me.largest);
      const auto [begin, end] = iterations_of(block, ranges_, loop_.n);
      body_(begin, end);
      const std::uint64_t now = ticks();
      times.add(end - begin, now - last);
      if (plan_.adapt) adapt(me, end - begin, now - last);
      last = now;
    }
  } catch (...) {
    ranges_.stop();
    throw;
  }
  if (id < listened()) seen_[id] = {times, largest << ranges_.shift()};
  if (!statistics_) return;
  claims_.fetch_add(me.claims, std::memory_order_relaxed);
  steals_.fetch_add(me.steals, std::memory_order_relaxed);
  if (id < statistics_->shares.size())
    statistics_->shares[id] = {static_cast<std::uint64_t>(times.iterations()), me.claims, me.steals,
                               static_cast<double>(first - start_) * tick_ns_,
                               static_cast<double>(last - first) * tick_ns_};
}

// Doubles until a block takes long enough to be timed. Then it is the best block for that time.
void timed_loop::adapt(shared_ranges::member& me, std::uint64_t iterations,
                       std::uint64_t ticks) const noexcept {
  const double ns = static_cast<double>(ticks) * tick_ns_;
  const auto most = static_cast<double>(ranges_.largest());
  double block = 2 * static_cast<double>(me.largest);
  if (ns >= long_enough_ns) {
    const double w = ns / static_cast<double>(iterations);
    const calibration& machine = loop_.machine;
    const double best =
        policies::best_block(static_cast<double>(loop_.n), plan_.threads, w, machine.claim_own, 1);
    const double unit = static_cast<double>(std::uint64_t{1} << ranges_.shift());
    block = std::min(block, best / unit);
    me.smallest =
        static_cast<std::uint64_t>(std::clamp(policies::least_block(w, machine.line_near) / unit, 1.0, most));
  }
  me.largest = std::max(me.smallest, static_cast<std::uint64_t>(std::clamp(block, 1.0, most)));
}

double timed_loop::elapsed_ns() const noexcept { return static_cast<double>(end_ - start_) * tick_ns_; }

loop_times timed_loop::times() const noexcept {
  loop_times all;
  for (std::uint32_t id = 0; id < listened(); ++id) all.add(seen_[id].times);
  return all;
}

void timed_loop::report(loop_statistics& statistics) const noexcept {
  statistics.iterations = loop_.n;
  statistics.block = plan_.adapt ? 0 : plan_.largest;
  for (std::uint32_t id = 0; plan_.adapt && id < listened(); ++id)
    statistics.block = std::max(statistics.block, seen_[id].largest);
  statistics.claims = claims_.load(std::memory_order_relaxed);
  statistics.steals = steals_.load(std::memory_order_relaxed);
  statistics.threads = plan_.threads;
  statistics.counters = plan_.counters;
  statistics.clamped = plan_.clamped;
  statistics.elapsed_ns = elapsed_ns();
}

// In loops of this length the clock costs almost nothing, and a loop may change while it runs.
constexpr double always_timed_ns = 1e6;

std::uint64_t named_site(const char* name) noexcept { return std::hash<std::string_view>()(name) | 1; }

/// One call: what is to be run, how, and what is known of it.
struct loop_call {
  const team_ref& team;
  std::uint64_t n;
  const loop_body& body;
  const loop_options& options;
  const block_policy& policy;
  loop_record* record;
  bool sampled;
};

std::uint32_t most_threads(const loop_call& call) noexcept {
  const std::uint64_t all = call.team.num_threads;
  const std::uint64_t wanted = call.options.max_threads > 0 ? call.options.max_threads : all;
  return static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(std::min(wanted, all), 1, std::min<std::uint64_t>(call.n, 1U << 20)));
}

loop_description describe(const loop_call& call) {
  const std::uint32_t threads = most_threads(call);
  loop_description loop{.n = call.n,
                        .threads = threads,
                        .cores = static_cast<std::uint32_t>(process_cores(threads)),
                        .l3_domains = usable_core_groups().count(),
                        .block = call.options.block,
                        .cost = call.options.cost,
                        .machine = machine_calibration()};
  if (const loop_record* const record = call.record) {
    loop.iteration_ns = record->iteration_ns.load(std::memory_order_relaxed);
    loop.spread = record->spread.load(std::memory_order_relaxed);
    loop.hot = record->is_visited_often();
  }
  return loop;
}

loop_plan plan_of(const loop_call& call, const loop_description& loop) {
  loop_plan plan = call.policy.plan(loop);
  plan.threads = std::clamp(plan.threads, 1U, loop.threads);
  return plan;
}

// The next two functions have the counters of a loop, up to 41 KB, on their stack. They are separate, so that a loop that runs on its
// caller, such as a nested one, needs almost no stack. They return false if the team refused; then nothing was run.

[[gnu::noinline]] bool run_timed(const loop_call& call, const loop_description& loop, const loop_plan& plan,
                                 const loop_body& body) {
  timed_loop run(loop, plan, body, call.options.statistics);
  if (!run.run(call.team)) return false;
  const double elapsed = run.elapsed_ns();
  const loop_times times = run.times();
  const double mean = times.mean() * ns_per_tick();
  if (call.record) {
    const bool believed = call.record->learn(mean, times.spread());
    if (believed && !plan.adapt)
      call.record->learn_gain(elapsed, call.record->iteration_alone_ns(mean) * static_cast<double>(loop.n));
  }
  if (call.options.statistics) run.report(*call.options.statistics);
  return true;
}

[[gnu::noinline]] bool run_plain(const loop_call& call, std::uint64_t n, const loop_plan& plan,
                                 const loop_body& body) {
  return plain_loop(n, plan, body).run(call.team);
}

void report_alone(const loop_call& call, double elapsed) {
  loop_statistics& statistics = *call.options.statistics;
  statistics.iterations = statistics.block = call.n;
  statistics.claims = statistics.threads = 1;
  statistics.counters = 0;
  statistics.elapsed_ns = elapsed;
  if (!statistics.shares.empty()) statistics.shares.front() = {call.n, 1, 0, 0, elapsed};
}

/// All of it on the calling thread.
void run_alone(const loop_call& call, bool timed) {
  if (!timed) return call.body(0, call.n);
  const std::uint64_t start = ticks();
  call.body(0, call.n);
  const double elapsed = static_cast<double>(ticks() - start) * ns_per_tick();
  if (call.record)
    call.record->learn(elapsed / static_cast<double>(call.n),
                       call.record->spread.load(std::memory_order_relaxed));
  if (call.options.statistics) report_alone(call, elapsed);
}

/// Watches a loop for which a fork was predicted not to pay. It runs in slices, with a reading of the clock before each.
struct watched_slices {
  // A reading takes 20 to 30 ns, because the loop starts again after it: 3% of this.
  static constexpr double least_ns = 1000;
  // If the prediction is off by more than this factor, the loop has changed; usual loops vary less from call to call.
  static constexpr double off_by = 4;
  // Slices grow by this factor at most, because a loop may begin with its cheap iterations.
  static constexpr std::uint64_t growth = 8;
  // The time of a shorter slice is mostly that of reading the clock.
  static constexpr double least_seen_ns = 100;
  static constexpr std::uint64_t most = 64;

  // If one slice takes as long as this many forks, the rest is divided. If the slice was an outlier, that costs little in comparison.
  static constexpr double surely_late = 16;

  std::uint64_t first;  ///< iterations of the first slice; few, in case the prediction is wrong
  std::uint64_t later;  ///< iterations of a later slice, at most

  watched_slices(std::uint64_t n, double iteration_ns) noexcept {
    const std::uint64_t share = n / most;
    first = std::max<std::uint64_t>(
        1, share < 16 ? share : share & ~std::uint64_t{15});  // for bodies that are vectorised
    const double enough = std::min(least_ns / iteration_ns, static_cast<double>(n));
    later = std::max(first, static_cast<std::uint64_t>(enough));
  }
};

/// Runs iterations begin .. n - 1 over the team, given the time of an iteration. False if that does not pay, or if the team refused.
[[gnu::noinline]] bool divide_rest(const loop_call& call, std::uint64_t begin, double iteration_ns) {
  loop_call rest = call;
  rest.n = call.n - begin;
  rest.record = nullptr;  // this call may be an exception; if not, a sample will show it
  loop_description loop = describe(rest);
  loop.iteration_ns = iteration_ns;
  const loop_plan plan = plan_of(rest, loop);
  if (plan.counters == 0) return false;
  const auto shifted = [&](std::uint64_t from, std::uint64_t to) { call.body(begin + from, begin + to); };
  return run_plain(rest, rest.n, plan, shifted);
}

/// Runs on the calling thread as long as the loop takes the predicted time, given that of an iteration in a fork's blocks. If it takes
/// longer twice in a row, or once for very long, the rest is divided among the team. If `timed`, it learns the time of an iteration from
/// the part that ran here. If `could_fork`, this time is not recorded as that of a fork's blocks. If forks would take `to_beat` > 0, it is
/// a race: the rest is divided once the caller is behind them.
void run_watched(const loop_call& call, double in_blocks_ns, bool timed, bool could_fork,
                 double to_beat = 0) {
  const double iteration_ns = call.record->iteration_alone_ns(in_blocks_ns);
  const watched_slices slices(call.n, iteration_ns);
  const double fork = machine_calibration().fork_hot;
  const double tick = ns_per_tick();
  const auto learn = [&](double elapsed, std::uint64_t iterations) {
    if (!timed) return;
    const double mean = elapsed / static_cast<double>(iterations);
    if (could_fork) return call.record->learn_alone(mean);
    call.record->learn(mean, call.record->spread.load(std::memory_order_relaxed));
  };
  const std::uint64_t start = ticks();
  std::uint64_t begin = 0, size = slices.first, last = start;
  for (int late = 0;;) {
    const bool last_one = call.n - begin <= size + size / 2;  // no look for less than half a slice
    const std::uint64_t end = last_one ? call.n : begin + size;
    call.body(begin, end);
    if (end == call.n && !timed) return;
    const std::uint64_t now = ticks();
    const double so_far = static_cast<double>(now - start) * tick;
    if (end == call.n) return learn(so_far, end);
    const double took = static_cast<double>(now - last) * tick;
    const double seen = took / static_cast<double>(end - begin);
    const auto left = static_cast<double>(call.n - end);
    const bool is_beaten =
        to_beat > 0 && loop_record::is_beaten(so_far, 1 - left / static_cast<double>(call.n), to_beat);
    const bool is_slow =
        to_beat <= 0 && took > watched_slices::least_seen_ns && seen > watched_slices::off_by * iteration_ns;
    const bool is_late = is_beaten || (is_slow && seen * left > 2 * fork);
    late = is_late ? late + (is_beaten || took > watched_slices::surely_late * fork ? 2 : 1) : 0;
    begin = end;
    last = now;
    if (!is_late) size = std::min(slices.later, watched_slices::growth * size);
    if (late < 2) continue;
    if (divide_rest(call, begin, seen)) return is_beaten ? call.record->learn_beaten() : learn(so_far, begin);
    late = 0;
    size *= 2;
    last = ticks();
  }
}

/// Runs the loop as the last call decided. False if that decided nothing for this loop, or if the team refused; then nothing was run.
bool run_as_decided(const loop_call& call) {
  const decision known = call.record->decided.load(std::memory_order_relaxed);
  if (known.threads == 1 && call.n <= known.n) {
    run_watched(call, call.record->iteration_ns.load(std::memory_order_relaxed), false, false);
    return true;
  }
  if (known.threads < 2 || call.n != known.n || known.threads > most_threads(call)) return false;
  const auto threads = static_cast<std::uint32_t>(known.threads);
  return run_plain(call, call.n, {.threads = threads, .counters = threads, .largest = call.n}, call.body);
}

// A try costs 0.3 to 1 us.
constexpr double between_tries_ns = 50'000;

/// Runs on the calling thread while another thread's loop uses the team. Once the team is free, the team takes the rest.
void run_until_taken(const loop_call& call, bool timed) {
  const double tick = ns_per_tick();
  std::uint64_t begin = 0, size = 1, own_ticks = 0;
  bool taken = false;
  lone_caller alone;
  for (std::uint64_t last = ticks(); begin < call.n && !taken; last = ticks()) {
    const std::uint64_t end = begin + std::min(size, call.n - begin);
    call.body(begin, end);
    const std::uint64_t took = ticks() - last;
    const double ns = static_cast<double>(took) * tick;
    const double iteration_ns = ns / static_cast<double>(end - begin);
    own_ticks += took;
    begin = end;
    if (ns < between_tries_ns) {
      size *= 2;
    } else {
      size = std::max<std::uint64_t>(1, size / 2);
      if (begin == call.n) break;
      alone.leave();
      taken = divide_rest(call, begin, iteration_ns);
      if (!taken) alone.enter();
    }
  }
  if (timed && call.record)
    call.record->learn(static_cast<double>(own_ticks) * tick / static_cast<double>(begin),
                       call.record->spread.load(std::memory_order_relaxed));
}

/// Runs the loop with the block whose turn it is, and records its time for the file of loops. False if this call is not recorded; then
/// nothing was run.
[[gnu::noinline]] bool run_recorded(const loop_call& call, const source_place& here, const void* body_type) {
  const loop_to_record loop{here, body_type, call.options.name, call.n, most_threads(call)};
  const std::uint64_t block = loop.threads > 1 ? block_to_record(loop) : 0;
  if (block == 0) return false;
  std::array<loop_share, 64> shares;
  loop_statistics seen{.shares = shares};
  loop_options options = call.options;
  options.policy = &usual_block_policy(block);
  options.block = block;
  options.statistics = &seen;
  run_loop(call.team, call.n, call.body, options, here, body_type);
  if (seen.threads == loop.threads) record_loop(loop, seen);
  return true;
}

}  // namespace

void run_loop(const team_ref& team, std::uint64_t n, const loop_body& body, const loop_options& options,
              const source_place& here, const void* body_type) {
  const block_policy& policy = options.policy ? *options.policy : usual_block_policy(options.block);
  if (options.statistics) {
    std::fill(options.statistics->shares.begin(), options.statistics->shares.end(), loop_share{});
    *options.statistics = {.shares = options.statistics->shares, .policy = policy.name.data()};
  }
  if (n == 0) return;
  if (recorded_loops && policy.learns && !options.statistics && !in_parallel()) [[unlikely]]
    if (run_recorded({team, n, body, options, policy, nullptr, false}, here, body_type)) return;
  loop_record* const record =
      policy.learns ? find_record(options.name ? named_site(options.name) : call_site(here, body_type))
                    : nullptr;
  if (record && options.after_pause) record->forget_interval();
  const loop_call call{team, n, body, options, policy, record, record && record->begin_call()};
  if (record && !options.statistics && run_as_decided(call)) return;
  if (call.sampled) record->learn_interval(ticks());
  if (!machine_is_known()) return body(0, n);
  const loop_description loop = describe(call);
  const bool may_fork =
      !record || record->may_fork(record->iteration_alone_ns(loop.iteration_ns) * static_cast<double>(n));
  const loop_plan plan = may_fork ? plan_of(call, loop) : loop_plan();
  const bool timed = call.sampled || options.statistics || plan.adapt ||
                     loop.iteration_ns * static_cast<double>(n) > always_timed_ns;
  if (plan.counters > 0 && call.sampled && !options.statistics && record->wants_race())
    return run_watched(call, loop.iteration_ns, true, true, record->forked_ns(static_cast<double>(n)));
  if (plan.counters > 0 && (timed ? run_timed(call, loop, plan, body) : run_plain(call, n, plan, body))) {
    if (record && !timed && has_shares_only(n, plan) && record->forks_pay()) record->decide(n, plan.threads);
    return;
  }
  const bool by_choice = record && plan.counters == 0 && loop.threads > 1 && loop.iteration_ns > 0;
  if (by_choice) record->decide(n, 1);
  if (by_choice && !options.statistics) return run_watched(call, loop.iteration_ns, timed, !may_fork);
  if (plan.counters > 0 && !in_parallel() && !options.statistics) return run_until_taken(call, timed);
  run_alone(call, timed);
}

}  // namespace corescale::detail
