// SPDX-License-Identifier: Apache-2.0 (more than 300 lines: the words of a round, and the two sides that read and write them)
#include "corescale/team/spin.hpp"

#include <algorithm>
#include <vector>

#include "corescale/machine/cache_line.hpp"
#include "corescale/machine/clock.hpp"
#include "corescale/team/detail/posix_thread.hpp"
#include "shared_core.hpp"
#include "waiting.hpp"

namespace corescale::inline v0::detail {
namespace {

/// A thread passes each round on to its children and waits for them, so that no thread wakes or awaits more threads than these. Teams of up
/// to nine threads are flat. Above that, writing and reading more than eight lines takes longer than a second step.
constexpr std::size_t fan_out = 8;

void no_worker(std::size_t) noexcept {}

constexpr std::size_t parent_of(std::size_t id) noexcept { return (id - 1) / fan_out; }
constexpr std::size_t first_child(std::size_t id) noexcept { return id * fan_out + 1; }

}  // namespace

/// The work of a round.
struct assignment {
  worker_ref worker = no_worker;
  bool anywhere = false;  ///< each share on whichever thread comes first
};

/// A round's number and the number of threads that take part. It is one word, because threads that do not take part may read it at any
/// time.
class round_word {
 public:
  constexpr round_word(std::uint64_t number, std::size_t k) noexcept
      : bits_(std::uint64_t{k} << number_bits | (number & mask)) {}
  constexpr explicit round_word(std::uint64_t bits) noexcept : bits_(bits & ~recalled) {}
  /// All threads take part in the round that ends the team.
  static constexpr round_word end_after(std::uint64_t number) noexcept { return {number + 1, everybody}; }
  constexpr bool is_end() const noexcept { return threads() == everybody; }

  constexpr std::uint64_t bits() const noexcept { return bits_; }
  constexpr std::uint64_t number() const noexcept { return bits_ & mask; }
  constexpr std::size_t threads() const noexcept { return bits_ >> number_bits; }

  /// Set in the word of a round whose shares belong to whoever claims them.
  static constexpr std::uint64_t recalled = std::uint64_t{1} << 63;

 private:
  // A thread that takes part in no round for exactly 2^40 rounds (30 hours of nothing else) would miss the next one, or be taken for
  // one that has begun it.
  static constexpr int number_bits = 40;
  static constexpr std::size_t everybody = (std::size_t{1} << (63 - number_bits)) - 1;
  static_assert(everybody > most_threads);
  static constexpr std::uint64_t mask = (std::uint64_t{1} << number_bits) - 1;
  std::uint64_t bits_;
};

/// A thread's orders to its children, in one cache line, the only one that they read.
class alignas(cache_line) orders {
 public:
  /// Wakes those of the children that sleep and take part.
  void publish(round_word round, const assignment& what, std::size_t own_id) noexcept {
    what_ = what;
    // seq_cst, as in sleep(): either this thread sees the sleeper, or the sleeper sees the round.
    round_.exchange(round.bits(), std::memory_order_seq_cst);
    if (const std::uint32_t sleeping = sleepers_.load(std::memory_order_seq_cst)) [[unlikely]]
      wake(sleeping & children_among(round.threads(), own_id));
  }

  /// The next round after number `last` that thread `id` takes part in.
  round_word await(std::size_t id, std::uint64_t last, std::chrono::nanoseconds spin_for) noexcept {
    std::uint64_t seen = 0;
    const auto takes_part = [&] { return concerns(id, last, seen = round_.load(std::memory_order_acquire)); };
    if (!takes_part() && !spin_until(takes_part, spin_for)) seen = sleep(id, last);
    return round_word(seen);
  }

  /// The assignment of a round that waits for the caller. No other round is published meanwhile.
  assignment what() const noexcept { return what_; }

  /// From now on each share of this round that no child has begun belongs to whoever claims it.
  /// False if it is not certain which ones these are: a child may be about to begin.
  bool recall() noexcept {
    round_.fetch_or(round_word::recalled, std::memory_order_relaxed);
    return order_all_threads();
  }
  /// Whether the round is neither over nor recalled.
  bool is_open(round_word round) const noexcept {
    return round_.load(std::memory_order_relaxed) == round.bits();
  }
  bool is_recalled(round_word round) const noexcept {
    return round_.load(std::memory_order_relaxed) == (round.bits() | round_word::recalled);
  }

 private:
  static bool concerns(std::size_t id, std::uint64_t last, std::uint64_t bits) noexcept {
    return round_word(bits).threads() > id && round_word(bits).number() != last;
  }

  static std::uint32_t children_among(std::size_t k, std::size_t parent) noexcept {
    const std::size_t first = first_child(parent);
    const std::size_t children = k <= first ? 0 : std::min(k - first, fan_out);
    return (std::uint32_t{1} << children) - 1;
  }

  /// The futex is sleepers_: a child that has not begun to sleep finds its bit gone, however many rounds there were meanwhile.
  void wake(std::uint32_t children) noexcept {
    if (!children) return;
    sleepers_.fetch_and(~children, std::memory_order_seq_cst);
    futex_word(sleepers_).wake(children);
  }

  std::uint64_t sleep(std::size_t id, std::uint64_t last) noexcept {
    const std::uint32_t own_bit = std::uint32_t{1} << ((id - 1) % fan_out);
    const asleep_thread uncounted;
    std::uint64_t seen = 0;
    for (;;) {
      const std::uint32_t sleeping = sleepers_.fetch_or(own_bit, std::memory_order_seq_cst) | own_bit;
      seen = round_.load(std::memory_order_seq_cst);
      if (concerns(id, last, seen)) break;
      futex_word(sleepers_).sleep(sleeping, own_bit);
    }
    sleepers_.fetch_and(~own_bit, std::memory_order_relaxed);
    return seen;
  }

  std::atomic<std::uint64_t> round_{0};
  std::atomic<std::uint32_t> sleepers_{0};
  assignment what_;
};

/// What a thread reports to its parent.
class alignas(cache_line) report {
 public:
  parking_word ended;  ///< the number of the last round that it and its children have ended

  /// Begins the thread's share of a round; false if somebody else has claimed it.
  /// There is no fence between its store and its load, because each round would pay for it; recall() has a fence for both sides. So either
  /// the parent sees that the thread has begun, or the thread sees the recall.
  bool begin(round_word round, const orders& above) noexcept {
    begun_.store(round.number(), std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    return above.is_open(round) || claim(round, above);
  }
  bool has_begun(round_word round) const noexcept {
    return begun_.load(std::memory_order_relaxed) == round.number();
  }

  /// Claims a share of a round that was recalled. The thread or its parent gets it, whichever is first.
  /// A thread that comes after the round is over sees this after it has read the claims, so it never overwrites a newer claim.
  bool claim(round_word round, const orders& above) noexcept {
    std::uint64_t seen = claimed_.load(std::memory_order_acquire);
    return seen != round.number() && above.is_recalled(round) &&
           claimed_.compare_exchange_strong(seen, round.number(), std::memory_order_acq_rel);
  }

 private:
  std::atomic<std::uint64_t> begun_{0};    // the number of a round
  std::atomic<std::uint64_t> claimed_{0};  // likewise
};

// The layout follows who writes: a fork-join of two threads should move two cache lines between master and worker, and no third.
struct spin_crew {
  struct alignas(cache_line) member {
    orders to_children;
    report to_parent;
  };

  spin_crew(std::size_t n, const team_options& options)
      : num_threads(n),
        spin_for(options.spin_for),
        stack_bytes(options.stack_bytes),
        leave_shared_cores(options.leave_shared_cores),
        shares_stay(options.pin || options.on_thread_start),
        members(n) {}
  ~spin_crew() {
    members[0].to_children.publish(round_word::end_after(number), {}, 0);
    for (posix_thread& one : threads) one.join();
  }
  spin_crew(const spin_crew&) = delete;
  spin_crew& operator=(const spin_crew&) = delete;

  bool start() {
    prepare_waiting();
    threads.reserve(num_threads - 1);
    for (std::size_t id = 1; id < num_threads; ++id)
      threads.emplace_back([this, id] { serve(id); }, stack_bytes);
    return true;
  }

  bool run(std::size_t k, worker_ref worker) noexcept { return run(k, {worker, false}); }

  /// The same as run(), but a parent that has ended its own share may run that of a child that has not begun. Threads
  /// come late if another program or runtime has their core, or while they wake up.
  bool run_anywhere(std::size_t k, worker_ref worker) noexcept { return run(k, {worker, !shares_stay}); }

  bool run(std::size_t k, const assignment& what) noexcept {
    if (k == 0) return true;
    const round_word round(++number, k);
    leave_shared_core(round);  // before the orders: a thread that they wake may take this core at once
    give_orders(0, round, what);
    core.run(what.worker, 0, k);
    await_children(0, round, what);
    return true;
  }

  void serve(std::size_t id) noexcept {
    const awake_thread counted(leave_shared_cores);
    orders& above = members[parent_of(id)].to_children;
    report& own = members[id].to_parent;
    for (std::uint64_t last = 0;;) {
      const round_word round = above.await(id, last, spin_for);
      last = round.number();
      leave_shared_core(round);  // before it begins: its parent may run its share meanwhile
      if (!own.begin(round, above)) continue;
      const assignment what = above.what();
      give_orders(id, round, what);
      if (round.is_end()) return;
      core.run(what.worker, id, round.threads());
      await_children(id, round, what);
      own.ended.publish(last);
    }
  }

  void leave_shared_core(round_word round) noexcept {
    if (shares_core(mark, round.number()) && process_has_a_core_for_each()) [[unlikely]]
      find_another_core(now_ns());
  }

  void give_orders(std::size_t id, round_word round, const assignment& what) noexcept {
    if (first_child(id) < round.threads()) members[id].to_children.publish(round, what, id);
  }

  static std::size_t end_of_children(std::size_t id, round_word round) noexcept {
    return std::min(first_child(id) + fan_out, round.threads());
  }

  // Runs all late shares before it waits for anything.
  void await_children(std::size_t id, round_word round, const assignment& what) noexcept {
    const std::uint32_t taken = what.anywhere ? take_late_shares(id, round, what) : 0;
    const std::size_t first = first_child(id);
    for (std::size_t child = first; child < end_of_children(id, round); ++child)
      if (taken >> (child - first) & 1)
        await_children(child, round, what);
      else
        await_child(members[child].to_parent, round);
  }

  void await_child(report& its, round_word round) noexcept {
    its.ended.await(round.number(), spin_for,
                    its.has_begun(round) ? end_is_near : std::chrono::nanoseconds());
  }

  /// Runs the shares of those children that have not begun, in their place; a bit for each of these.
  std::uint32_t take_late_shares(std::size_t id, round_word round, const assignment& what) noexcept {
    orders& own = members[id].to_children;
    std::uint32_t taken = 0;
    if (all_begin_soon(id, round) || !own.recall()) return taken;
    const std::size_t first = first_child(id);
    for (std::size_t child = first; child < end_of_children(id, round); ++child) {
      report& its = members[child].to_parent;
      if (its.has_begun(round) || !its.claim(round, own)) continue;
      taken |= std::uint32_t{1} << (child - first);
      give_orders(child, round, what);
      core.run(what.worker, child, round.threads());
    }
    return taken;
  }

  // Never yields: there is work to do.
  bool all_begin_soon(std::size_t id, round_word round) const noexcept {
    std::int64_t until = 0;
    for (std::size_t child = first_child(id); child < end_of_children(id, round); ++child) {
      for (int check = 1; !members[child].to_parent.has_begun(round); ++check) {
        cpu_pause();
        if (check % checks_per_look != 0) continue;
        const std::int64_t now = now_ns();
        if (until == 0) until = now + soon_ns;
        if (now >= until) return false;
      }
    }
    return true;
  }

  // A parent that yields its core to a thread of another runtime gets it back only after a time slice of the kernel, up to 4 ms. So the
  // parent keeps its core while a child ends its last block.
  static constexpr std::chrono::nanoseconds end_is_near = std::chrono::microseconds(50);

  // A thread that spins begins within 0.1 to 0.4 us; one that sleeps begins after 30 us or more.
  static constexpr std::int64_t soon_ns = 5'000;

  static constexpr const char* name = "spin";
  static constexpr bool ids_stay = true;

  // Data that all threads read.
  alignas(cache_line) const std::size_t num_threads;
  const std::chrono::nanoseconds spin_for;
  const std::size_t stack_bytes;
  const bool leave_shared_cores;
  const std::uint64_t mark = mark_of_a_team();
  const bool shares_stay;  // set if the program relies on which thread runs which share
  std::vector<member> members;
  std::vector<posix_thread> threads;

  // Data that the master writes in each round.
  alignas(cache_line) team_core core;
  std::uint64_t number = 0;
};

template class crewed_team<spin_crew>;

}  // namespace corescale::detail
