// SPDX-License-Identifier: Apache-2.0
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

/// A thread hands each round on to its children and waits for them, so that no thread wakes or awaits more than these.
/// Teams of up to nine threads are flat: more than eight lines to write or read take longer than a second step.
constexpr std::size_t fan_out = 8;

void no_worker(std::size_t) noexcept {}

constexpr std::size_t parent_of(std::size_t id) noexcept { return (id - 1) / fan_out; }
constexpr std::size_t first_child(std::size_t id) noexcept { return id * fan_out + 1; }

}  // namespace

/// A round's number and how many threads take part: one word, as those that do not take part read it at any time.
class round_word {
 public:
  constexpr round_word(std::uint64_t number, std::size_t k) noexcept
      : bits_(std::uint64_t{k} << number_bits | (number & mask)) {}
  constexpr explicit round_word(std::uint64_t bits) noexcept : bits_(bits) {}
  /// Everybody takes part in the end.
  static constexpr round_word end_after(std::uint64_t number) noexcept { return {number + 1, everybody}; }
  constexpr bool is_end() const noexcept { return threads() == everybody; }

  constexpr std::uint64_t bits() const noexcept { return bits_; }
  constexpr std::uint64_t number() const noexcept { return bits_ & mask; }
  constexpr std::size_t threads() const noexcept { return bits_ >> number_bits; }

 private:
  // A thread that takes part in no round for exactly 2^41 rounds (60 hours of nothing else) would miss the next one.
  static constexpr int number_bits = 41;
  static constexpr std::size_t everybody = (std::size_t{1} << (64 - number_bits)) - 1;
  static_assert(everybody > most_threads);
  static constexpr std::uint64_t mask = (std::uint64_t{1} << number_bits) - 1;
  std::uint64_t bits_;
};

/// What a thread tells its children. One cache line: the children's only one.
class alignas(cache_line) orders {
 public:
  /// Wakes those of the children that sleep and take part.
  void publish(round_word round, worker_ref worker, std::size_t own_id) noexcept {
    worker_ = worker;
    round_.exchange(round.bits(),
                    std::memory_order_seq_cst);  // seq_cst, as in sleep(): one of both sees the other
    if (const std::uint32_t sleeping = sleepers_.load(std::memory_order_seq_cst)) [[unlikely]]
      wake(sleeping & children_among(round.threads(), own_id));
  }

  /// The next round after number `last` that thread `id` takes part in.
  round_word await(std::size_t id, std::uint64_t last, std::chrono::nanoseconds spin_for) noexcept {
    const auto takes_part = [&] { return concerns(id, last, round_.load(std::memory_order_acquire)); };
    if (!takes_part() && !spin_until(takes_part, spin_for)) sleep(id, last);
    return round_word(round_.load(std::memory_order_acquire));
  }

  worker_ref worker() const noexcept { return worker_; }

 private:
  static bool concerns(std::size_t id, std::uint64_t last, std::uint64_t bits) noexcept {
    return round_word(bits).threads() > id && round_word(bits).number() != last;
  }

  static std::uint32_t children_among(std::size_t k, std::size_t parent) noexcept {
    const std::size_t first = first_child(parent);
    const std::size_t children = k <= first ? 0 : std::min(k - first, fan_out);
    return (std::uint32_t{1} << children) - 1;
  }

  void wake(std::uint32_t children) noexcept {
    if (children) futex_word(round_).wake(children);
  }

  void sleep(std::size_t id, std::uint64_t last) noexcept {
    const std::uint32_t own_bit = std::uint32_t{1} << ((id - 1) % fan_out);
    const asleep_thread uncounted;
    for (;;) {
      sleepers_.fetch_or(own_bit, std::memory_order_seq_cst);
      const std::uint64_t seen = round_.load(std::memory_order_seq_cst);
      if (concerns(id, last, seen)) break;
      futex_word(round_).sleep(seen, own_bit);
    }
    sleepers_.fetch_and(~own_bit, std::memory_order_relaxed);
  }

  std::atomic<std::uint64_t> round_{0};
  std::atomic<std::uint32_t> sleepers_{0};
  worker_ref worker_{no_worker};
};

/// What a thread tells its parent: the number of the last round that it and its children have ended.
struct alignas(cache_line) report {
  parking_word ended;
};

// Laid out by who writes: a fork-join of two should move two cache lines between master and worker, and no third.
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
        members(n) {}
  ~spin_crew() {
    members[0].to_children.publish(round_word::end_after(number), no_worker, 0);
    for (posix_thread& one : threads) one.join();
  }
  spin_crew(const spin_crew&) = delete;
  spin_crew& operator=(const spin_crew&) = delete;

  bool start() {
    note_usable_cores();
    threads.reserve(num_threads - 1);
    for (std::size_t id = 1; id < num_threads; ++id)
      threads.emplace_back([this, id] { serve(id); }, stack_bytes);
    return true;
  }

  bool run(std::size_t k, worker_ref worker) noexcept {
    if (k == 0) return true;
    const round_word round(++number, k);
    give_orders(0, round, worker);
    run_share(0, round, worker);
    await_children(0, round);
    return true;
  }

  void serve(std::size_t id) noexcept {
    const awake_thread counted(leave_shared_cores);
    orders& above = members[parent_of(id)].to_children;
    for (std::uint64_t last = 0;;) {
      const round_word round = above.await(id, last, spin_for);
      const worker_ref worker = above.worker();
      give_orders(id, round, worker);
      if (round.is_end()) return;
      run_share(id, round, worker);
      await_children(id, round);
      last = round.number();
      members[id].to_parent.ended.publish(last);
    }
  }

  void run_share(std::size_t id, round_word round, worker_ref worker) noexcept {
    if (shares_core(this, round.number()) && process_has_a_core_for_each()) [[unlikely]]
      find_another_core(now_ns());
    core.run(worker, id, round.threads());
  }

  void give_orders(std::size_t id, round_word round, worker_ref worker) noexcept {
    if (first_child(id) < round.threads()) members[id].to_children.publish(round, worker, id);
  }

  void await_children(std::size_t id, round_word round) noexcept {
    const std::size_t end = std::min(first_child(id) + fan_out, round.threads());
    for (std::size_t child = first_child(id); child < end; ++child)
      members[child].to_parent.ended.await(round.number(), spin_for);
  }

  static constexpr const char* name = "spin";
  static constexpr bool ids_stay = true;

  // What all threads read.
  alignas(cache_line) const std::size_t num_threads;
  const std::chrono::nanoseconds spin_for;
  const std::size_t stack_bytes;
  const bool leave_shared_cores;
  std::vector<member> members;
  std::vector<posix_thread> threads;

  // What the master writes in each round.
  alignas(cache_line) team_core core;
  std::uint64_t number = 0;
};

template class crewed_team<spin_crew>;

}  // namespace corescale::detail
