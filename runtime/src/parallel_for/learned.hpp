// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>

#include "corescale/machine/cache_line.hpp"
#include "corescale/parallel_for/detail/loop.hpp"
#include "corescale/team/team.hpp"

// What loops learn from the blocks of one call, and the record of one call site over all its calls.
namespace corescale::inline v0::detail {

/// The times of a loop's blocks, in ticks. An outlier is counted as `most_times` the mean so far, because a block in which the thread was
/// preempted says nothing about the loop.
class loop_times {
 public:
  void add(std::uint64_t iterations, std::uint64_t ticks) noexcept {
    const auto i = static_cast<double>(iterations);
    auto t = static_cast<double>(ticks);
    if (iterations_ > 0) t = std::min(t, most_times * i * mean());
    iterations_ += i;
    ticks_ += t;
    squares_ += t * t / i;
  }

  void add(const loop_times& other) noexcept {
    iterations_ += other.iterations_;
    ticks_ += other.ticks_;
    squares_ += other.squares_;
  }

  double iterations() const noexcept { return iterations_; }

  /// The mean ticks of an iteration; 0 if there was none.
  double mean() const noexcept { return iterations_ > 0 ? ticks_ / iterations_ : 0; }

  /// The coefficient of variation of blocks' times per iteration, each weighted by its length.
  double spread() const noexcept {
    if (!(iterations_ > 0) || !(ticks_ > 0)) return 0;
    return std::sqrt(std::max(0.0, squares_ * iterations_ / (ticks_ * ticks_) - 1));
  }

 private:
  static constexpr double most_times = 32;
  double iterations_ = 0;
  double ticks_ = 0;
  double squares_ = 0;
};

/// The last sample, of a fork's blocks or of the caller alone, according to which a loop has changed. It may be an outlier, because a
/// short, even loop has only one block for each thread, with no others to limit its effect. So the sample is believed, but the next call
/// is timed too: the second look. The call after that is not timed, however much the two differ; otherwise a loop that changes at each
/// call would always be timed.
enum class doubt : std::uint8_t { none, blocks, second_blocks, alone, second_alone };

/// What was decided for short loops in the call before, so that a call between two samples need not decide again.
/// One thread: the caller runs loops of up to n iterations alone. Several: each runs its share of exactly n. None: nothing.
struct decision {
  std::uint64_t n : 48 = 0;
  std::uint64_t threads : 16 = 0;

  static constexpr std::uint64_t most_n = (std::uint64_t{1} << 48) - 1;
  static constexpr std::uint64_t most_threads = (1U << 16) - 1;
};

/// The record of one call site over all its calls. Any number of threads may read and write at once: the values are independent, and a
/// lost update only loses a sample.
/// A record takes half of corescale::cache_line, so that a page holds twice as many. Two threads seldom call two loops at once.
struct alignas(cache_line / 2) loop_record {
  std::atomic<std::uint64_t> site{0};
  std::atomic<std::uint64_t> sampled_at{0};  ///< ticks at the last sample
  std::atomic<decision> decided{};
  std::atomic<float> iteration_ns{
      0};  ///< measured in blocks of a forked loop, or on the caller alone if none is forked; 0: not known
  std::atomic<float> alone_ns{
      0};  ///< an iteration of a loop that is forked, on the caller alone; 0: not known; negative: a race was lost
  std::atomic<float> spread{0};
  std::atomic<float> interval_ns{0};           ///< between calls; 0: not known
  std::atomic<std::uint32_t> calls{0};         ///< modulo 2^32
  std::atomic<std::uint32_t> sampled_call{0};  ///< the number of the last sample
  std::atomic<std::uint32_t> serial_until{0};  ///< calls before this one are not forked: forks did not pay
  std::atomic<float> lost_ns{0};               ///< the time of the loop whose forks did not pay
  std::atomic<float> gain{0};  ///< the share of the serial time that forks save, the mean of late samples
  std::atomic<std::uint8_t> forks{0};   ///< the number of these samples
  std::atomic<std::uint8_t> losses{0};  ///< samples in a row whose fork did not pay
  std::atomic<std::uint8_t> wake_before{
      0};  ///< log2 of the calls from the fork that wakes the team to a later try
  std::atomic<doubt> in_doubt{doubt::none};  ///< about the last sample

  /// Counts this call, and returns whether to time it. A timed call makes the decisions again.
  bool begin_call() noexcept {
    const std::uint32_t call = calls.load(std::memory_order_relaxed);
    calls.store(call + 1, std::memory_order_relaxed);
    const doubt last = in_doubt.load(std::memory_order_relaxed);
    const bool again = last == doubt::blocks || last == doubt::alone;
    if (again) [[unlikely]]
      in_doubt.store(last == doubt::blocks ? doubt::second_blocks : doubt::second_alone,
                     std::memory_order_relaxed);
    const std::uint32_t until = serial_until.load(std::memory_order_relaxed);
    const bool tried_again = call + 1 == until;
    const bool prepares = prepares_try();
    const bool timed =
        !prepares && (call < first_samples || call % sample_every == 0 || again || tried_again);
    const bool is_over = static_cast<std::int32_t>(call + 1 - until) > 0;
    if (timed && is_over) serial_until.store(0, std::memory_order_relaxed);  // else it returns as calls wrap
    if (timed || prepares) forget_decision();
    return timed;
  }

  void decide(std::uint64_t n, std::uint64_t threads) noexcept {
    if (n <= decision::most_n && threads <= decision::most_threads)
      decided.store({.n = n, .threads = threads}, std::memory_order_relaxed);
  }
  void forget_decision() noexcept { decided.store({}, std::memory_order_relaxed); }

  /// Learns from the mean time and the spread of a timed call's blocks. False if the next call must show whether that was an outlier.
  bool learn(double mean_ns, double new_spread) noexcept;

  /// Whether this timed call shall race its caller alone against earlier forks. The times of a fork's blocks do not show what the fork
  /// saves: they are longer if threads share data, a lock or the memory's bandwidth. Suleman, Qureshi and Patt (2008), "Feedback-driven
  /// threading", section 3, likewise run some iterations on one thread. A loop that changes at each sample has no forks to race against.
  bool wants_race() const noexcept {
    const std::uint32_t call = calls.load(std::memory_order_relaxed) - 1;
    const bool is_tried_again = losses.load(std::memory_order_relaxed) > 1;
    return forks.load(std::memory_order_relaxed) > 1 && !is_tried_again &&
           (alone_ns.load(std::memory_order_relaxed) == 0 || call % race_every == 0 ||
            in_doubt.load(std::memory_order_relaxed) == doubt::second_alone);
  }

  /// The time of n iterations over the team, by late forks.
  double forked_ns(double n) const noexcept {
    const double iteration = iteration_alone_ns(iteration_ns.load(std::memory_order_relaxed));
    return (1 - gain.load(std::memory_order_relaxed)) * iteration * n;
  }

  /// Whether the caller has lost a race: this share of the iterations has taken it too long for forks that take `forked`.
  static bool is_beaten(double elapsed_ns, double share, double forked) noexcept {
    return elapsed_ns > (share + most_behind) * forked;
  }

  /// Learns from the mean time of an iteration on the caller, in a call that would have been forked. If it differs much, the next call
  /// must confirm it: the first one after a fork fetches its data from another core's cache. If they disagree, the shorter holds.
  void learn_alone(double mean_ns) noexcept;

  /// Learns that forks have won a race. If they had lost one before, the next call must confirm it.
  void learn_beaten() noexcept;

  /// The time of an iteration alone, if in blocks of a fork it takes `mean_ns`. A longer time that was measured alone does not count,
  /// because it may be an outlier.
  double iteration_alone_ns(double mean_ns) const noexcept {
    const double alone = alone_ns.load(std::memory_order_relaxed);
    return alone > 0 ? std::min(alone, mean_ns) : mean_ns;
  }

  /// Learns from the time of a forked call, and the time that it would have taken alone.
  void learn_gain(double elapsed_ns, double serial_ns) noexcept;

  /// The time until the next timed call does not count as time between calls.
  void forget_interval() noexcept { sampled_at.store(0, std::memory_order_relaxed); }

  /// Learns when a timed call began.
  void learn_interval(std::uint64_t now) noexcept;

  /// Whether a loop that takes `predicted_ns` alone may be forked. If forks did not pay for a short loop, this says nothing about a much
  /// longer one at that place.
  bool may_fork(double predicted_ns = 0) const noexcept {
    const std::uint32_t until = serial_until.load(std::memory_order_relaxed);
    return until == 0 || static_cast<std::int32_t>(calls.load(std::memory_order_relaxed) - until) >= 0 ||
           prepares_try() || predicted_ns > much_longer * lost_ns.load(std::memory_order_relaxed);
  }

  /// Whether no forks of this loop were found not to pay. Else a fork is a try, and decides nothing for the next call.
  bool forks_pay() const noexcept { return serial_until.load(std::memory_order_relaxed) == 0; }

  /// Whether calls follow so closely that the team still spins from one to the next.
  bool is_visited_often() const noexcept {
    const float interval = interval_ns.load(std::memory_order_relaxed);
    return interval > 0 && interval < often_ns;
  }

 private:
  /// Whether this call is forked only to prepare the try that follows: so that the threads are awake, and, directly before it, so that
  /// each has the data of its share in its cache. After calls alone, the first fork fetches them from the caller's cache.
  bool prepares_try() const noexcept {
    const std::uint32_t left =
        serial_until.load(std::memory_order_relaxed) - calls.load(std::memory_order_relaxed);
    return left == 1 || left == std::uint32_t{1} << wake_before.load(std::memory_order_relaxed);
  }

  /// Stores a time alone. That of late forks is what it was, so their gain is another.
  void store_alone(double ns) noexcept;

  // Reading the clock costs 1 to 2% of a loop of a microsecond; over sixteen calls, that is negligible.
  // One of the first samples searches, two fork, two race alone against these, and one forks again.
  static constexpr std::uint32_t first_samples = 6;
  static constexpr std::uint32_t sample_every = 16;
  // A race costs a loop that gains from forks this share of a fork's time, and a slice. A winner may be behind at first, because it fetches
  // its data from another core's cache.
  static constexpr double most_behind = 0.25;
  static constexpr std::uint32_t race_every = 256;
  static constexpr double much_longer = 4;
  // If another program displaces a thread now and then, the thread is late at some joins, but saves time on average.
  static constexpr std::uint8_t most_forks = 16;
  // A gain below this counts as this, because so late a join is chance.
  static constexpr double least_gain = -3;
  // In serial times of the loop: what a fork on two threads saves at best.
  static constexpr float least_loss = 0.5F;
  // The three forks of a try cost at most three parts in so many of the calls without forks.
  static constexpr double calls_for_a_loss = 200;
  static constexpr double longest_pause = 1U << 20;
  // Half of the time for which a thread of the default team spins.
  static constexpr float often_ns = team_options::usual_spin_for / std::chrono::nanoseconds(2);
};
static_assert(sizeof(loop_record) == cache_line / 2);

/// The number of a place that loops. What is learned there is kept under this number.
std::uint64_t call_site(const source_place& here, const void* body_type) noexcept;

/// The record of that site; null if the table is full. Then a loop works, but learns nothing.
loop_record* find_record(std::uint64_t site) noexcept;

}  // namespace corescale::detail
