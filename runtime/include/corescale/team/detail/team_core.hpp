// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>

#include "corescale/team/calling_thread.hpp"
#include "corescale/team/team.hpp"

// What every team needs to keep the contract of team.hpp.
namespace corescale::inline v0::detail {

/// A thread that made or adopted a team.
/// Its address identifies the thread: unlike a thread's own address or number, it is not reused while any team remembers it.
struct thread_identity {
  std::atomic<bool> ended{false};
};

/// An entry in the list of teams whose workers the calling thread is running, innermost first.
struct membership {
  team_place place;
  const membership* outer;
};

/// 16 bytes of static thread storage. Every fork-join reads it, so access may not need a call.
struct thread_state {
  const thread_identity* identity = nullptr;
  const membership* innermost = nullptr;
};
extern constinit thread_local thread_state calling_thread __attribute__((tls_model("initial-exec")));

inline bool inside_any_worker() noexcept { return calling_thread.innermost != nullptr; }

/// Called when the process's own team (process_team.hpp) begins or ends a call of work(). in_parallel() depends on it.
void set_process_team_at_work(bool at_work) noexcept;

/// The number of fork() calls between the first process and this one.
std::uint64_t fork_generation() noexcept;

/// Who may call work(), and when: the master, one call at a time, in the process that made the team.
class master_gate {
 public:
  /// The calling thread becomes the master.
  /// Throws std::bad_alloc.
  master_gate();

  /// In a child of fork() nobody is the master, because the thread that is left has no identity.
  outcome enter() noexcept {
    if (calling_thread.identity != master_.load(std::memory_order_relaxed) || busy_) [[unlikely]]
      return why_refused();
    busy_ = true;
    return outcome::done;
  }
  void leave() noexcept { busy_ = false; }
  bool in_forked_child() const noexcept { return generation_ != fork_generation(); }

  outcome release() noexcept;
  outcome adopt();
  outcome take_over();
  bool calling_thread_is_inside() const noexcept;

 protected:
  ~master_gate() = default;

 private:
  outcome why_refused() const noexcept;

  /// Separate from the gate, so that a call needs only one cache line.
  struct change_of_hands {
    std::mutex mutex;
    std::shared_ptr<const thread_identity> last_master;  // guarded by mutex
  };

  std::atomic<const thread_identity*> master_;
  const std::uint64_t generation_ = fork_generation();
  bool busy_ = false;  // read and written only by the master
  const std::unique_ptr<change_of_hands> hands_;
};

/// The state that all teams have: the gate, and the first exception that left a worker.
class team_core : public master_gate {
 public:
  /// Runs worker(id) as one of k on the calling thread.
  void run(function_ref<void(std::size_t)> worker, std::size_t id, std::size_t k) noexcept;

  /// Called by the master after the join, so that the run() that wrote error_ happened before.
  void rethrow() {
    if (thrown_.load(std::memory_order_relaxed)) [[unlikely]]
      rethrow_first();
  }

 private:
  [[noreturn]] void rethrow_first();

  std::atomic<bool> thrown_{false};
  std::exception_ptr error_;
};

}  // namespace corescale::detail
