// SPDX-License-Identifier: Apache-2.0
#include "corescale/parallel_for/default_team.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <exception>
#include <memory>
#include <utility>

#include "corescale/machine/affinity.hpp"
#include "corescale/machine/thread_end.hpp"
#include "corescale/machine/topology.hpp"
#include "corescale/team/calling_thread.hpp"
#include "corescale/team/spin.hpp"

namespace corescale::inline v0 {
namespace {

constexpr std::uint64_t nobody = ~std::uint64_t{0};

// Never destroyed: a loop in a destructor of static storage still finds it.
constinit std::atomic<spin_team*> crew{nullptr};
constinit std::atomic<std::size_t> size{0};
constinit std::atomic<bool> size_stays{false};  // restart() was told it
constinit std::atomic<std::uint32_t> failures{0};
constinit std::atomic<std::uint64_t> taken_in{
    nobody};  // the fork_generation() of the thread that has its turn

/// The right to use or make the team: one thread at a time, and nobody waits.
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

// What failed once may be there later: tried again at the 2nd, 4th, 8th, ... call, and each 1024 at least.
bool try_now() noexcept {
  if (failures.load(std::memory_order_relaxed) == 0) return true;
  const std::uint32_t call = failures.fetch_add(1, std::memory_order_relaxed) + 1;
  return std::has_single_bit(call) || call % 1024 == 0;
}

void replace(std::unique_ptr<spin_team> made, std::size_t threads) noexcept {
  delete crew.exchange(made.release(), std::memory_order_acq_rel);
  size.store(threads, std::memory_order_release);
}

/// The end of a thread that was the team's master.
void end_master(void*) noexcept;
constinit detail::thread_end end_of_master(end_master);

bool make(std::size_t threads) noexcept {
  const turn only;
  if (!only.is_mine() || in_parallel()) return false;
  try {
    const detail::affinity_of_process meanwhile;
    std::unique_ptr<spin_team> made = spin_team::create(threads);
    if (made) {
      end_of_master.await(&end_of_master);
      replace(std::move(made), threads);
      failures.store(0, std::memory_order_relaxed);
      return true;
    }
  } catch (const std::exception&) {  // std::bad_alloc
  }
  failures.fetch_add(1, std::memory_order_relaxed);
  return false;
}

bool take_over(spin_team& team) noexcept {
  try {
    end_of_master.await(&end_of_master);
    return team.take_over() == outcome::done;
  } catch (const std::exception&) {  // std::bad_alloc
    return false;
  }
}

// By pthread_exit() in main(): the team must not be what keeps the process alive. Later loops have a team until their thread ends.
constinit std::atomic<bool> main_has_ended{false};

void end_master(void*) noexcept {
  if (syscall(SYS_gettid) == getpid()) main_has_ended = true;
  if (!main_has_ended) return;
  const turn only;
  if (only.is_mine()) replace(nullptr, 0);
}

template <class Round>
outcome run(Round round) {
  if (in_parallel()) return outcome::nested;
  const turn only;
  spin_team* const team = crew.load(std::memory_order_relaxed);
  if (!only.is_mine() || !team) return outcome::not_master;
  const outcome first = round(*team);
  return first == outcome::not_master && take_over(*team) ? round(*team) : first;
}

}  // namespace

outcome process_wide_team::work(std::size_t k, worker_ref worker) {
  return run([&](spin_team& team) { return team.work(k, worker); });
}

outcome process_wide_team::work_anywhere(std::size_t k, worker_ref worker) {
  return run([&](spin_team& team) { return team.work_anywhere(k, worker); });
}

std::size_t process_wide_team::num_threads() const noexcept {
  const std::size_t known = size.load(std::memory_order_acquire);
  if (size_stays.load(std::memory_order_relaxed) && known > 0) return known;
  const std::size_t cores = process_cores(known + 1);
  if (known >= cores || !try_now() || !make(cores)) return std::max<std::size_t>(known, 1);
  return cores;
}

bool process_wide_team::restart(std::size_t threads, const team_options& options) {
  const turn only;
  if (!only.is_mine() || in_parallel()) return false;
  const detail::affinity_of_process meanwhile;
  std::unique_ptr<spin_team> made = spin_team::create(threads, options);
  if (!made) return false;
  replace(std::move(made), threads);
  size_stays.store(true, std::memory_order_relaxed);
  return true;
}

bool process_wide_team::restart() {
  const turn only;
  if (!only.is_mine() || in_parallel()) return false;
  size_stays.store(false, std::memory_order_relaxed);
  replace(nullptr, 0);
  return true;
}

process_wide_team& default_team() {
  static process_wide_team only;
  return only;
}

}  // namespace corescale
