// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <utility>

#include "corescale/team/function_ref.hpp"

// What every team needs to keep the contract of team.hpp.
namespace corescale::detail {

/// Marks the calling thread as member `id` of a team while this lives.
class inside_worker {
 public:
  explicit inside_worker(std::size_t id) noexcept;
  ~inside_worker();
  inside_worker(const inside_worker&) = delete;
  inside_worker& operator=(const inside_worker&) = delete;

 private:
  std::size_t outer_id_;
  bool outer_inside_;
};

/// How many fork() calls lie between the first process and this one.
std::uint64_t fork_generation() noexcept;

/// Differs between threads that are alive at once; a register read, where std::this_thread::get_id() is a
/// call.
inline const void* calling_thread() noexcept {
#if __has_builtin(__builtin_thread_pointer)
  return __builtin_thread_pointer();
#else
  thread_local const char here = 0;
  return &here;
#endif
}

/// Who may call work(), and when: the master, one call at a time, in the process that made the team.
class master_gate {
 public:
  bool enter() noexcept {
    if (in_forked_child() || calling_thread() != master_ || busy_) [[unlikely]]
      return false;
    return busy_ = true;
  }
  void leave() noexcept { busy_ = false; }
  bool in_forked_child() const noexcept { return generation_ != fork_generation(); }

 private:
  const void* const master_ = calling_thread();
  const std::uint64_t generation_ = fork_generation();
  bool busy_ = false;  // read and written by the master alone
};

/// Runs workers, and keeps the first exception that leaves one of them until the team has joined.
class first_exception {
 public:
  void run(function_ref<void(std::size_t)> worker, std::size_t id) noexcept {
    const inside_worker member(id);
    try {
      worker(id);
    } catch (...) {
      if (!taken_.exchange(true, std::memory_order_relaxed)) error_ = std::current_exception();
    }
  }

  /// By the master, after the join: that orders error_ with the run() that wrote it.
  void rethrow() {
    if (!taken_.load(std::memory_order_relaxed)) [[likely]]
      return;
    taken_.store(false, std::memory_order_relaxed);
    std::rethrow_exception(std::exchange(error_, nullptr));
  }

 private:
  std::atomic<bool> taken_{false};
  std::exception_ptr error_;
};

}  // namespace corescale::detail
