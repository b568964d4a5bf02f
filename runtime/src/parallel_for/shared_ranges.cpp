// SPDX-License-Identifier: Apache-2.0
#include "shared_ranges.hpp"

#include <bit>
#include <memory>

namespace corescale::inline v0::detail {
namespace {

constexpr int unit_bits = 30;
constexpr std::uint32_t none = ~0U;

std::uint32_t counters_of(std::uint64_t n, const loop_plan& plan) noexcept {
  if (has_shares_only(n, plan)) return plan.threads;
  return std::clamp<std::uint32_t>(plan.counters, 1, std::min(plan.threads, most_counters));
}

}  // namespace

bool has_shares_only(std::uint64_t n, const loop_plan& plan) noexcept {
  return plan.counters == plan.threads && !plan.steal && plan.divisor == 0 && plan.largest >= n;
}

shared_ranges::shared_ranges(std::uint64_t n, const loop_plan& plan, range_counters& room) noexcept
    : counter_(room.at.data()),
      counters_(counters_of(n, plan)),
      threads_(plan.threads),
      divisor_(plan.divisor),
      shift_(static_cast<std::uint8_t>(std::max(static_cast<int>(std::bit_width(n)) - unit_bits, 0))),
      steal_(plan.steal || plan.by_group),
      shares_only_(has_shares_only(n, plan)),
      shared_(plan.threads > counters_),
      by_group_(plan.by_group),
      starts_small_(plan.adapt) {
  units_ = static_cast<std::uint32_t>(units_of(n));
  // Every thread may add to a dry word once. Together that is too little to wrap it.
  const std::uint64_t most = std::min<std::uint64_t>(units_, ((std::uint64_t{1} << 31) - 1) / plan.threads);
  largest_ = static_cast<std::uint32_t>(std::min(units_of(plan.largest), most));
  smallest_ = static_cast<std::uint32_t>(std::min<std::uint64_t>(units_of(plan.smallest), largest_));
  const member first = newcomer();
  for (std::uint32_t which = 0; which < counters_ && !shares_only_; ++which) {
    const auto [begin, end] = share_of(which);
    const std::uint64_t reserved = shared_ ? 0 : size(first, end - begin);
    std::construct_at(&counter_[which])->range.store(pack(begin + reserved, end), std::memory_order_relaxed);
  }
}

unit_block shared_ranges::share_of(std::uint32_t which) const noexcept {
  return {std::uint64_t{units_} * which / counters_, std::uint64_t{units_} * (which + 1) / counters_};
}

shared_ranges::member shared_ranges::newcomer() const noexcept {
  return {.largest = starts_small_ ? smallest_ : largest_, .smallest = smallest_};
}

shared_ranges::member shared_ranges::join(std::uint32_t id, std::uint32_t group) noexcept {
  member me = newcomer();
  me.group = group;
  if (shared_) {
    me.home = by_group_ ? group % counters_ : id * counters_ / threads_;
    return me;
  }
  me.home = id;
  const auto [begin, end] = share_of(id);
  me.reserved = {begin, shares_only_ ? end : begin + size(me, end - begin)};
  me.done = shares_only_;
  if (group != 0 && !shares_only_) counter_[id].group.store(group, std::memory_order_relaxed);
  return me;
}

// If all claims are equal, the result of the addition shows the remainder. Otherwise the remainder is read first.
bool shared_ranges::take(member& me, std::uint32_t which, unit_block& block) noexcept {
  std::atomic<word>& range = counter_[which].range;
  std::uint64_t wanted = me.largest;
  if (steal_ || divisor_ != 0) {
    const std::uint64_t rest = rest_of(range.load(std::memory_order_relaxed));
    if (rest == 0) return false;
    wanted = size(me, rest);
  }
  const word before = range.fetch_add(wanted << 32, std::memory_order_relaxed);
  const std::uint64_t rest = rest_of(before);
  if (rest == 0) return false;
  block = {next_of(before), next_of(before) + std::min(wanted, rest)};
  return true;
}

std::uint32_t shared_ranges::richest(const member& me, bool own_group) const noexcept {
  std::uint32_t best = none;
  std::uint64_t most = 0;
  for (std::uint32_t which = 0; which < counters_; ++which) {
    if (which == me.home) continue;
    if (own_group && counter_[which].group.load(std::memory_order_relaxed) != me.group) continue;
    const std::uint64_t rest = rest_of(counter_[which].range.load(std::memory_order_relaxed));
    if (rest > most) {
      most = rest;
      best = which;
    }
  }
  // A small remainder is not worth stealing if its own thread will claim it. But a group may have no thread.
  return by_group_ || 2 * most > me.smallest ? best : none;
}

// If threads share the home counter, one of them refills it. Meanwhile the others claim from the counter from which it steals.
bool shared_ranges::steal(member& me, unit_block& block) noexcept {
  bool refill = true;
  if (shared_) {
    std::atomic<word>& home = counter_[me.home].range;
    word seen = home.load(std::memory_order_relaxed);
    refill = rest_of(seen) == 0 && !is_refilling(seen) &&
             home.compare_exchange_strong(seen, refilling, std::memory_order_relaxed);
  }
  for (;;) {
    if (!refill && take(me, me.home, block)) return true;
    std::uint32_t victim = shared_ ? none : richest(me, true);
    if (victim == none) victim = richest(me, false);
    if (victim == none) break;
    if (refill ? steal_half(me, victim, block) : take(me, victim, block)) return true;
  }
  if (shared_ && refill) counter_[me.home].range.store(pack(0, 0), std::memory_order_relaxed);
  return false;
}

bool shared_ranges::steal_half(member& me, std::uint32_t victim, unit_block& block) noexcept {
  std::atomic<word>& range = counter_[victim].range;
  word seen = range.load(std::memory_order_relaxed);
  const std::uint64_t rest = rest_of(seen);
  const std::uint64_t half = rest - rest / 2;
  const std::uint64_t end = end_of(seen);
  if (rest == 0 ||
      !range.compare_exchange_strong(seen, pack(next_of(seen), end - half), std::memory_order_relaxed))
    return false;
  const std::uint64_t first = size(me, half);
  block = {end - half, end - half + first};
  counter_[me.home].range.store(pack(block.end, end), std::memory_order_relaxed);
  ++me.steals;
  return true;
}

}  // namespace corescale::detail
