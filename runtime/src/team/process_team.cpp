// SPDX-License-Identifier: Apache-2.0
#include "corescale/team/process_team.hpp"

#include <atomic>
#include <new>

#include "corescale/team/detail/team_core.hpp"

namespace corescale::inline v0 {
namespace {

/// The process's team.
/// Never destroyed: a team alive at exit ends with the process, whichever thread calls exit().
struct process_team {
  any_team threads;
  const detail::thread_identity* master = nullptr;  // the team keeps it alive
  std::uint64_t generation = 0;

  // The fork_generation() of the call that is inside, so that a fork() cannot leave it locked.
  std::atomic<std::uint64_t> entered{unused};

  static constexpr std::uint64_t unused = ~std::uint64_t{0};
};

// Static and without a destructor. It is not made at a first call, because a fork() could find another thread in that call.
union never_destroyed {
  constexpr never_destroyed() noexcept : team() {}
  ~never_destroyed() {}
  process_team team;
};
constinit never_destroyed only;

process_team& the() noexcept { return only.team; }

/// The right to use the process's team: one call at a time, and never from inside a worker.
class turn {
 public:
  turn() : mine_(!detail::inside_any_worker() && enter()) {}
  ~turn() {
    if (mine_) the().entered.store(process_team::unused, std::memory_order_release);
  }
  turn(const turn&) = delete;
  turn& operator=(const turn&) = delete;

  bool is_mine() const noexcept { return mine_; }
  bool is_masters() const noexcept {
    return mine_ && the().threads && the().master == detail::calling_thread.identity;
  }

 private:
  static bool enter() noexcept {
    auto now = the().entered.load(std::memory_order_relaxed);
    return now != detail::fork_generation() &&
           the().entered.compare_exchange_strong(now, detail::fork_generation(), std::memory_order_acquire);
  }
  bool mine_;
};

bool is_from_before_fork() noexcept { return the().generation != detail::fork_generation(); }

struct parallel_mode {
  parallel_mode() noexcept { detail::set_process_team_at_work(true); }
  ~parallel_mode() { detail::set_process_team_at_work(false); }
  parallel_mode(const parallel_mode&) = delete;
  parallel_mode& operator=(const parallel_mode&) = delete;
};

}  // namespace

bool team_create(std::size_t num_threads, std::string_view system) try {
  const turn call;
  if (!call.is_mine()) return false;
  const bool master_has_ended = !call.is_masters() && the().threads.adopt() == outcome::done;
  if (the().threads && !master_has_ended) return false;
  the().threads = any_team();
  the().threads = make_team(num_threads, system);
  the().master = detail::calling_thread.identity;
  the().generation = detail::fork_generation();
  return static_cast<bool>(the().threads);
} catch (const std::bad_alloc&) {
  return false;
}

bool detail::team_work(function_ref<bool()> worker) {
  const turn call;
  if (!call.is_masters() || is_from_before_fork()) return false;
  const parallel_mode while_it_runs;
  std::atomic<bool> all_good{true};
  const outcome worked = the().threads.work([&](std::size_t) {
    if (!worker()) all_good.store(false, std::memory_order_relaxed);
  });
  return worked == outcome::done && all_good.load(std::memory_order_relaxed);
}

bool team_destroy() {
  const turn call;
  const bool inherited = call.is_mine() && the().threads && is_from_before_fork();
  if (!call.is_masters() && !inherited) return false;
  the().threads = any_team();
  return true;
}

}  // namespace corescale
