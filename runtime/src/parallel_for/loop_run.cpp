// SPDX-License-Identifier: Apache-2.0
#include "loop_run.hpp"

#include <memory>

#include "corescale/machine/clock.hpp"
#include "policies/best_block.hpp"

namespace corescale::inline v0::detail {
namespace {

struct iterations {
  std::uint64_t begin, end;
};

// The last unit may be cut; its end may lie beyond 2^64.
iterations iterations_of(const unit_block& block, const shared_ranges& ranges,
                         const std::uint64_t& n) noexcept {
  if (ranges.shift() == 0) return {block.begin, block.end};
  return {block.begin << ranges.shift(), block.end == ranges.units() ? n : block.end << ranges.shift()};
}

// While a block takes less than this, the clock and the claim are much of what was timed.
constexpr double long_enough_ns = 1000;

}  // namespace

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
  std::uint64_t last = first;
  try {
    while (ranges_.next(me, block)) {
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
  if (id < listened()) seen_[id] = {times, me.largest << ranges_.shift(), first, last};
  claims_.fetch_add(me.claims, std::memory_order_relaxed);
  steals_.fetch_add(me.steals, std::memory_order_relaxed);
  if (statistics_ && id < statistics_->shares.size())
    statistics_->shares[id] = {static_cast<std::uint64_t>(times.iterations()), me.claims, me.steals,
                               static_cast<double>(first - start_) * tick_ns_,
                               static_cast<double>(last - first) * tick_ns_};
}

// Doubles until a block takes long enough to be timed, and then is the best for what it took.
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

double timed_loop::fork_join_ns() const noexcept {
  double late = 0;
  std::uint64_t last = start_;
  for (std::uint32_t id = 0; id < listened(); ++id) {
    late += seen_[id].first > start_ ? static_cast<double>(seen_[id].first - start_) : 0;
    last = std::max(last, seen_[id].last);
  }
  return (late / listened() + static_cast<double>(end_ - std::min(last, end_))) * tick_ns_;
}

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

}  // namespace corescale::detail
