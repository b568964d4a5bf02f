// SPDX-License-Identifier: Apache-2.0
#include "learned.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "corescale/machine/clock.hpp"

namespace corescale::inline v0::detail {
namespace {

/// A hash table of records, in which a record is at one of a few places from the one that the hash gives.
template <unsigned bits, std::size_t tries>
struct table_of_records {
  std::array<loop_record, 1U << bits> at;

  /// Null if all places that it tried belong to other sites.
  loop_record* find(std::uint64_t site) noexcept {
    const std::size_t first = site >> (64 - bits);
    for (std::size_t next = first; next < first + tries; ++next) {
      loop_record& one = at[next % at.size()];
      std::uint64_t seen = one.site.load(std::memory_order_relaxed);
      if (seen == site) [[likely]]
        return &one;
      if (seen == 0 &&
          (one.site.compare_exchange_strong(seen, site, std::memory_order_relaxed) || seen == site))
        return &one;
    }
    return nullptr;
  }
};

// Large programs have some hundred parallel loops, most programs a few. The few are in one page, because a first call that touches a new
// page pays 1 to 10 us for it.
constinit struct alignas(4096) {
  table_of_records<6, 4> few;
  table_of_records<10, 16> many;
} table;

// A sample that differs by this factor counts in full at once, because the loop has changed.
constexpr double another_loop = 2;
constexpr double weight_of_new = 0.25;

// A loop that never gained by a fork is tried again every 256 calls, and less often if a try takes several times as long as the loop.
constexpr std::uint32_t most_losses = 4;

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) noexcept {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15U;
  return hash ^ hash >> 32;
}

std::uint64_t address(const void* what) noexcept { return reinterpret_cast<std::uintptr_t>(what); }

float towards(float old, double seen) noexcept {
  return static_cast<float>(old + weight_of_new * (seen - old));
}

}  // namespace

std::uint64_t call_site(const source_place& here, const void* body_type) noexcept {
  return mixed(mixed(mixed(1, address(here.file)), address(body_type)), here.line) | 1;
}

loop_record* find_record(std::uint64_t site) noexcept {
  loop_record* const one = table.few.find(site);
  return one ? one : table.many.find(site);
}

// Threads that disturb each other take longer by chance. So if a time alone is known, the loop has changed only if a second look confirms
// it while forks pay. Then the time alone is that of the loop before. Forks that lose are judged by the time alone that was measured last.
bool loop_record::learn(double mean_ns, double new_spread) noexcept {
  const float old = iteration_ns.load(std::memory_order_relaxed);
  const bool anew = old <= 0 || mean_ns > another_loop * old || another_loop * mean_ns < old;
  const float old_spread = spread.load(std::memory_order_relaxed);
  iteration_ns.store(anew ? static_cast<float>(mean_ns) : towards(old, mean_ns), std::memory_order_relaxed);
  spread.store(anew ? static_cast<float>(new_spread) : towards(old_spread, new_spread),
               std::memory_order_relaxed);
  const bool is_second = in_doubt.load(std::memory_order_relaxed) == doubt::second_blocks;
  const bool pays = losses.load(std::memory_order_relaxed) == 0;
  const bool is_another = alone_ns.load(std::memory_order_relaxed) <= 0 ? anew : is_second && !anew && pays;
  if (is_another) {
    serial_until.store(0, std::memory_order_relaxed);
    forks.store(0, std::memory_order_relaxed);
    alone_ns.store(0, std::memory_order_relaxed);
    forget_decision();
  }
  const bool again = anew && old > 0 && !is_second;
  in_doubt.store(again ? doubt::blocks : doubt::none, std::memory_order_relaxed);
  return !again;
}

void loop_record::store_alone(double ns) noexcept {
  const double mean = iteration_ns.load(std::memory_order_relaxed);
  const double before = iteration_alone_ns(mean);
  alone_ns.store(static_cast<float>(ns), std::memory_order_relaxed);
  const double after = iteration_alone_ns(mean);
  if (!(before > 0) || !(after > 0)) return;
  const double saved = 1 - (1 - gain.load(std::memory_order_relaxed)) * before / after;
  gain.store(static_cast<float>(std::max(least_gain, saved)), std::memory_order_relaxed);
}

void loop_record::learn_alone(double mean_ns) noexcept {
  const double old = alone_ns.load(std::memory_order_relaxed);
  const bool is_second = old > 0 && in_doubt.load(std::memory_order_relaxed) == doubt::second_alone;
  const bool anew = old <= 0 || mean_ns > another_loop * old || another_loop * mean_ns < old;
  const double believed = is_second ? std::min(old, mean_ns) : mean_ns;
  store_alone(anew ? believed : towards(static_cast<float>(old), mean_ns));
  // The first time alone says nothing of a change. If forks have lost before, their threads may still wake up: no try may follow at once.
  const bool is_change = old > 0 || serial_until.load(std::memory_order_relaxed) == 0;
  in_doubt.store(anew && is_change && !is_second ? doubt::alone : doubt::none, std::memory_order_relaxed);
  const bool confirmed = is_second && !anew;
  if (!confirmed) return;
  const bool have_lost =
      forks.load(std::memory_order_relaxed) > 0 && gain.load(std::memory_order_relaxed) <= 0;
  if (have_lost && losses.load(std::memory_order_relaxed) == 0) losses.store(1, std::memory_order_relaxed);
  serial_until.store(0, std::memory_order_relaxed);
  forks.store(0, std::memory_order_relaxed);
  forget_decision();
}

void loop_record::learn_beaten() noexcept {
  const bool is_second = in_doubt.load(std::memory_order_relaxed) == doubt::second_alone;
  const bool again = alone_ns.load(std::memory_order_relaxed) > 0 && !is_second;
  if (!again) store_alone(-1);
  in_doubt.store(again ? doubt::alone : doubt::none, std::memory_order_relaxed);
}

// Three conditions together stop the forks of a loop: two losses in a row (one may be due to another program), a mean saving that is not
// positive, and losses that are together as large as the best saving of a fork. While another runtime spins, forks often fail, but the
// caller then takes the late share and loses little. The time without forks gets longer each time, but always ends. A later try is judged
// by itself, as the last of three forks: its threads must be awake, with the data of their shares, as they are from fork to fork. Else a
// short loop would never be forked again. The first of the three wakes them half of their time to spin earlier.
void loop_record::learn_gain(double elapsed_ns, double serial_ns) noexcept {
  const auto seen = std::min<std::uint8_t>(forks.load(std::memory_order_relaxed) + 1, most_forks);
  const float before = seen == 1 ? 0 : gain.load(std::memory_order_relaxed);
  const double saved = std::max(least_gain, 1 - elapsed_ns / serial_ns);
  const auto mean = static_cast<float>(before + (saved - before) / seen);
  forks.store(seen, std::memory_order_relaxed);
  gain.store(mean, std::memory_order_relaxed);
  if (saved > 0 || mean > 0) return losses.store(0, std::memory_order_relaxed);
  const std::uint32_t in_a_row = std::min(losses.load(std::memory_order_relaxed) + 1U, most_losses);
  const bool is_later_try = in_a_row > 2;
  if (in_a_row < 2 || (!is_later_try && -mean * static_cast<float>(seen) < least_loss))
    return losses.store(1, std::memory_order_relaxed);
  losses.store(static_cast<std::uint8_t>(in_a_row), std::memory_order_relaxed);
  // Of the last two losses the smaller, as one may be due to another program.
  const double least = std::min<double>(elapsed_ns, lost_ns.load(std::memory_order_relaxed));
  const double lost = is_later_try ? least / serial_ns - 1 : 0;
  const auto pause = static_cast<std::uint32_t>(
      std::clamp<double>(calls_for_a_loss * lost, sample_every << in_a_row, longest_pause));
  const std::uint32_t until = calls.load(std::memory_order_relaxed) + pause;
  serial_until.store(until | 1, std::memory_order_relaxed);
  forget_decision();
  const float calls_awake = is_visited_often() ? often_ns / interval_ns.load(std::memory_order_relaxed) : 1;
  wake_before.store(static_cast<std::uint8_t>(std::ilogb(calls_awake)), std::memory_order_relaxed);
  lost_ns.store(static_cast<float>(std::max(elapsed_ns, serial_ns)), std::memory_order_relaxed);
  forks.store(0, std::memory_order_relaxed);
}

// A second look, one call after a possible outlier, does not count: an interval needs the calls between two regular samples.
void loop_record::learn_interval(std::uint64_t now) noexcept {
  const doubt what = in_doubt.load(std::memory_order_relaxed);
  if (what == doubt::second_blocks || what == doubt::second_alone) return;
  const std::uint32_t call = calls.load(std::memory_order_relaxed);
  const std::uint32_t since = call - sampled_call.exchange(call, std::memory_order_relaxed);
  const std::uint64_t before = sampled_at.exchange(now, std::memory_order_relaxed);
  if (before == 0 || now <= before || since == 0) return;
  const double interval = static_cast<double>(now - before) * ns_per_tick() / since;
  interval_ns.store(static_cast<float>(interval), std::memory_order_relaxed);
}

}  // namespace corescale::detail
