// SPDX-License-Identifier: Apache-2.0
#include "corescale/parallel_for/default_team.hpp"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "corescale/machine/affinity.hpp"
#include "corescale/machine/thread_end.hpp"
#include "corescale/machine/topology.hpp"
#include "corescale/team/calling_thread.hpp"
#include "corescale/team/spin.hpp"
#include "lone_caller.hpp"

namespace corescale::inline v0 {
namespace {

constexpr std::uint64_t nobody = ~std::uint64_t{0};

/// A team, and for each of its shares another team that runs the share's nested loops, made at its first use.
struct crew_of_process {
  std::unique_ptr<spin_team> team;
  std::vector<std::unique_ptr<spin_team>> below;  // the thread that runs the share uses its team
};

// Never destroyed, so that a loop in the destructor of a static object still finds it.
constinit std::atomic<crew_of_process*> crew{nullptr};
constinit std::atomic<const void*> identity{
    nullptr};  // of its team; inside that team's workers the crew is not replaced
constinit std::atomic<std::size_t> size{0};
constinit std::atomic<bool> size_stays{false};  // restart() has set it
constinit std::atomic<std::uint32_t> failures{0};
constinit std::atomic<std::uint64_t> taken_in{
    nobody};  // the fork_generation() of the thread that has its turn

/// The right to use or make the team: one thread at a time, and no thread waits.
class turn {
 public:
  turn() noexcept {
    std::uint64_t before = taken_in.load(std::memory_order_relaxed);
    const std::uint64_t now = detail::fork_generation();
    mine_ = before != now && taken_in.compare_exchange_strong(before, now, std::memory_order_acquire);
  }
  ~turn() {
    if (mine_) taken_in.store(nobody, std::memory_order_release);
  }
  turn(const turn&) = delete;
  turn& operator=(const turn&) = delete;
  bool is_mine() const noexcept { return mine_; }

 private:
  bool mine_;
};

// A team that could not be made may be made later. So it is tried again at the 2nd, 4th, 8th, ... call, and at least every 1024 calls.
bool try_now() noexcept {
  if (failures.load(std::memory_order_relaxed) == 0) return true;
  const std::uint32_t call = failures.fetch_add(1, std::memory_order_relaxed) + 1;
  return std::has_single_bit(call) || call % 1024 == 0;
}

/// Null if threads or memory run out. Throws what on_thread_start throws.
std::unique_ptr<spin_team> make_spin_team(std::size_t threads, const team_options& options) {
  try {
    const detail::affinity_of_process meanwhile;
    return spin_team::create(threads, options);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

/// Null if threads or memory run out. Throws what on_thread_start throws.
std::unique_ptr<crew_of_process> make_crew(std::size_t threads, const team_options& options) {
  std::unique_ptr<spin_team> team = make_spin_team(threads, options);
  if (!team) return nullptr;
  try {
    return std::make_unique<crew_of_process>(
        crew_of_process{std::move(team), std::vector<std::unique_ptr<spin_team>>(threads)});
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void replace(std::unique_ptr<crew_of_process> made) noexcept {
  const std::size_t threads = made ? made->team->num_threads() : 0;
  identity.store(made ? made->team->identity() : nullptr, std::memory_order_relaxed);
  delete crew.exchange(made.release(), std::memory_order_acq_rel);
  size.store(threads, std::memory_order_release);
}

/// The end of a thread that was the team's master, or of main().
void end_master(void*) noexcept;
constinit detail::thread_end end_of_master(end_master);

bool awaits_end() noexcept {
  try {
    end_of_master.await(&end_of_master);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

// main() may never loop. If another thread loads this library, the end of main() is seen only if main() looped.
[[maybe_unused]] const bool main_is_awaited = syscall(SYS_gettid) == getpid() && awaits_end();

bool make(std::size_t threads) noexcept {
  const turn only;
  if (!only.is_mine() || in_parallel()) return false;
  std::unique_ptr<crew_of_process> made = make_crew(threads, {});
  if (made && awaits_end()) {
    replace(std::move(made));
    failures.store(0, std::memory_order_relaxed);
    return true;
  }
  failures.fetch_add(1, std::memory_order_relaxed);
  return false;
}

bool take_over(spin_team& team) noexcept {
  try {
    return awaits_end() && team.take_over() == outcome::done;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

// Whether main() has ended by pthread_exit(). If so, the team must not keep the process alive, and ends with each thread that was its
// master.
constinit std::atomic<bool> main_has_ended{false};

void end_master(void*) noexcept {
  if (syscall(SYS_gettid) == getpid()) main_has_ended = true;
  if (!main_has_ended) return;
  const turn only;
  if (only.is_mine()) replace(nullptr);
}

/// The number of threads that a nested loop may use: its own, plus its part of the threads that the outer loop leaves idle.
std::size_t threads_below(const team_place& here) noexcept {
  const std::size_t all = size.load(std::memory_order_relaxed);
  return 1 + (all - std::min(all, here.num_threads)) / here.num_threads;
}

bool is_own(const team_place& here) noexcept {
  return here.team && here.team == identity.load(std::memory_order_relaxed);
}

/// The team of the loops in the calling thread's share; null if there is none.
spin_team* team_below() noexcept {
  const team_place here = current_team();
  if (!is_own(here) || threads_below(here) < 2) return nullptr;
  std::unique_ptr<spin_team>& below = crew.load(std::memory_order_relaxed)->below[here.id];
  if (!below || below->num_threads() < threads_below(here)) below = make_spin_team(threads_below(here), {});
  return below.get();
}

template <class Round>
outcome run_on(spin_team& team, Round round) {
  const outcome first = round(team);
  return first == outcome::not_master && take_over(team) ? round(team) : first;
}

template <class Round>
outcome run(Round round) {
  if (in_parallel()) {
    spin_team* const below = team_below();
    return below ? run_on(*below, round) : outcome::nested;
  }
  const turn only;
  const crew_of_process* const all = crew.load(std::memory_order_relaxed);
  if (!only.is_mine() || !all) return outcome::not_master;
  return run_on(*all->team, round);
}

/// Whether callers that run their own loops leave less than two cores, so that a round would have more threads than cores.
bool has_one_core() noexcept {
  const std::size_t others = detail::lone_caller::count();
  return others > 0 && others + 2 > size.load(std::memory_order_relaxed) && !in_parallel();
}

[[maybe_unused]] const int nobody_is_alone_in_a_child =
    pthread_atfork(nullptr, nullptr, detail::lone_caller::forget_all);

}  // namespace

outcome process_wide_team::work(std::size_t k, worker_ref worker) {
  return run([&](spin_team& team) { return team.work(k, worker); });
}

outcome process_wide_team::work_anywhere(std::size_t k, worker_ref worker) {
  if (has_one_core()) return outcome::not_master;
  return run([&](spin_team& team) { return team.work_anywhere(k, worker); });
}

std::size_t process_wide_team::num_threads() const noexcept {
  if (const team_place here = current_team(); is_own(here)) return threads_below(here);
  const std::size_t known = size.load(std::memory_order_acquire);
  if (size_stays.load(std::memory_order_relaxed) && known > 0) return known;
  const std::size_t cores = process_cores(known + 1);
  if (known >= cores || !try_now() || !make(cores)) return std::max<std::size_t>(known, 1);
  return cores;
}

bool process_wide_team::restart(std::size_t threads, const team_options& options) {
  const turn only;
  if (!only.is_mine() || in_parallel()) return false;
  std::unique_ptr<crew_of_process> made = make_crew(threads, options);
  if (!made) return false;
  replace(std::move(made));
  size_stays.store(true, std::memory_order_relaxed);
  return true;
}

bool process_wide_team::restart() {
  const turn only;
  if (!only.is_mine() || in_parallel()) return false;
  size_stays.store(false, std::memory_order_relaxed);
  replace(nullptr);
  return true;
}

process_wide_team& default_team() {
  static process_wide_team only;
  return only;
}

}  // namespace corescale
