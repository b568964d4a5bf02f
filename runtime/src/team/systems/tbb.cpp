// SPDX-License-Identifier: Apache-2.0
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include "corescale/team/detail/crewed_team.hpp"
#include "foreign_threads.hpp"
#include "systems.hpp"
#include "waiting.hpp"

namespace corescale::inline v0 {
namespace {

using tbb::global_control;
using namespace std::chrono_literals;

// oneTBB's workers linger for 1 ms too.
constexpr auto spin_for = 1ms;

// The time for which a master waits for its team before it reminds oneTBB. Threads that come by themselves start within this time.
constexpr auto patience = 20ms;

// The time without a further thread after which a team that is being made gives up: other arenas of the program hold all threads. With
// 40 threads that want two cores, under ThreadSanitizer, 5 s were too short.
constexpr auto hopeless_after = 20s;

/// Whether oneTBB cannot go on after it lacked memory: then no further team is made.
std::atomic<bool> spoiled{false};

// oneTBB's threads do not survive fork().
detail::one_process users;

/// oneTBB applies the least of all existing limits. So the teams of a process share one limit, which allows for all of them at once.
/// Masters are threads of the program; every other member is a thread of oneTBB. A smaller global_control of the program still binds; then
/// create() returns null.
class share_of_limit {
 public:
  explicit share_of_limit(std::size_t num_threads) : others_(num_threads - 1) { change(others_); }
  ~share_of_limit() { change(0 - others_); }
  share_of_limit(const share_of_limit&) = delete;
  share_of_limit& operator=(const share_of_limit&) = delete;

  /// Whether oneTBB may run the members of all teams at once.
  static bool is_granted_to_all() {
    const std::scoped_lock lock(mutex);
    return allows(1 + others) && 1 + others <= most_workers();
  }

  static bool allows(std::size_t num_threads) {
    return num_threads <= global_control::active_value(global_control::max_allowed_parallelism);
  }

  /// Sets the limit once more. A lesser one comes first, because oneTBB ignores a limit that it already has. The lesser limit still allows
  /// for every other team.
  static void tell_again() {
    const std::scoped_lock lock(mutex);
    if (process_ends || !limit.control) return;
    const global_control less(global_control::max_allowed_parallelism, limit_for(others) - 1);
  }

 private:
  // oneTBB never starts more threads, whatever the limit.
  static std::size_t most_workers() {
    return std::max<std::size_t>(256, 4 * std::thread::hardware_concurrency());
  }

  // The new limit is set before the old one is removed, because between them oneTBB's own default would apply.
  static void change(std::size_t by) {
    const std::scoped_lock lock(mutex);
    if (process_ends) return;
    const std::size_t now = others + by;
    auto raised =
        now == 0 ? nullptr
                 : std::make_unique<global_control>(global_control::max_allowed_parallelism, limit_for(now));
    limit.control = std::move(raised);
    others = now;
  }

  static std::size_t limit_for(std::size_t all_others) { return std::max(1 + all_others, default_limit()); }

  static std::size_t default_limit() {
    static const std::size_t first_seen = [] {
      try {
        return global_control::active_value(global_control::max_allowed_parallelism);
      } catch (...) {  // oneTBB counts the cores once; after a failure, later callers wait for that count
        spoiled = true;
        throw;
      }
    }();
    return first_seen;
  }

  const std::size_t others_;
  static inline std::mutex mutex;
  static inline std::size_t others = 0;

  // Ends before oneTBB's static objects do; a program's static team may end later.
  static inline bool process_ends = false;
  struct last_limit {
    ~last_limit() { process_ends = true; }
    std::unique_ptr<global_control> control;
  };
  static inline last_limit limit;
};

/// Whether the calling thread runs a worker of a team of oneTBB.
/// oneTBB counts a thread that waits in a worker as one that serves the next arena that asks. So a team inside a team could wait for ever,
/// and is refused.
[[gnu::tls_model("initial-exec")]] constinit thread_local bool inside_a_worker = false;

/// One task per thread and round, in an arena of n slots.
/// A task waits until all k have started, so that no thread of oneTBB takes two. The master's own task reminds oneTBB of the others.
/// oneTBB owns the threads and keeps them after the team ends.
/// A round waits for threads of oneTBB that other arenas hold.
/// Limits are fork(), the process's thread limit, and 256 threads or 4 per core, whichever is more, for all teams together. They are found
/// when the team is made, by starting plain threads and then one round. The round gives up if no further thread comes for a while. This is
/// best effort.
struct crew {
  crew(std::size_t n, const team_options&) : num_threads(n), arena(static_cast<int>(n), 1) {}

  bool start() {
    if (inside_a_worker || spoiled || !users.enter())
      return false;  // before any mutex is locked, because a child of fork() may find it locked
    share.emplace(num_threads);
    if (!share_of_limit::is_granted_to_all()) return false;
    return detail::can_start_threads(num_threads - 1) && gathers();
  }

  bool run(std::size_t k, worker_ref worker) noexcept {
    if (k == 0) return true;
    if (inside_a_worker || !share_of_limit::allows(k)) return false;
    meeting here(k);
    run_tasks(k, here, [&](std::size_t id) {
      here.all_started.arrive();
      if (id == 0) all_start(std::chrono::milliseconds::max(), here.all_started);
      here.all_started.wait(spin_for);
      if (!here.complete) return;
      inside_a_worker = true;
      core.run(worker, id, k);
      inside_a_worker = false;
    });
    return here.complete;
  }

  /// Where the tasks of a round wait for each other.
  struct meeting {
    explicit meeting(std::size_t k) : all_started(k) {}
    detail::countdown_latch all_started;
    std::atomic<bool> complete{true};
  };

  bool gathers() {
    meeting here(num_threads);
    run_tasks(num_threads, here, [&](std::size_t id) {
      here.all_started.arrive();
      // Only the master gives up. If the process was stopped meanwhile, the others' time is over although no thread was late.
      if (id == 0 && !all_start(hopeless_after, here.all_started)) {
        here.complete = false;
        if (had_no_memory) spoiled = true;
      }
      while (here.complete && !here.all_started.wait_at_most(patience)) {
      }
    });
    return here.complete;
  }

  /// Called by the master. Waits for the other members, and reminds oneTBB of them meanwhile. False if no further one came within the
  /// limit.
  /// oneTBB promises no thread. It overlooks a task that is spawned at the moment when a thread finds the arena empty (its arena.h,
  /// advertise_new_work), and a limit that changes at the moment when a market begins. If nothing else happens, it overlooks them for ever.
  bool all_start(std::chrono::milliseconds limit, detail::countdown_latch& all_started) noexcept {
    std::chrono::milliseconds waited = 0ms;
    std::size_t missing = all_started.missing();
    for (auto pause = patience; !all_started.wait_at_most(pause, spin_for);
         pause = std::min(2 * pause, 1000ms)) {
      const std::size_t left = all_started.missing();
      waited = left < missing ? 0ms : waited + pause;
      missing = left;
      if (waited >= limit) return false;
      try {
        arena.enqueue([] {});  // oneTBB does not overlook this one
        share_of_limit::tell_again();
      } catch (const std::exception&) {  // no memory: the next turn reminds it
      }
    }
    return true;
  }

  /// If there is no memory for a task, tells those that wait for it that it will not come.
  template <class Member>
  void run_tasks(std::size_t k, meeting& here, const Member& member) {
    arena.execute([&] {
      tbb::task_group others;
      std::size_t id = 1;
      try {
        for (; id < k; ++id) others.run([&member, id] { member(id); });
      } catch (const std::exception&) {  // std::bad_alloc
        had_no_memory = true;
        here.complete = false;
        here.all_started.arrive(k - id);
      }
      member(0);
      others.wait();
    });
  }

  /// oneTBB may have found no memory to start a thread. It then counts the thread as one that comes, and no later team gathers.
  static inline std::atomic<bool> had_no_memory{false};

  static constexpr const char* name = "tbb";
  static constexpr bool ids_stay = false;
  detail::team_core core;
  const std::size_t num_threads;
  std::optional<share_of_limit> share;
  tbb::task_arena arena;
};

using tbb_team = detail::crewed_team<crew>;
static_assert(team<tbb_team>);

}  // namespace

any_team systems::make_tbb(std::size_t num_threads, const team_options& options) {
  return any_team(tbb_team::create(num_threads, options));
}

}  // namespace corescale

CORESCALE_ENTRY_POINT(tbb)
