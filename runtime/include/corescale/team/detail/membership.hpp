// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <thread>
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

/// Who may call work(), and when: the master, one call at a time, in the process that made the team.
class master_gate {
 public:
  bool enter() noexcept {
    if (in_forked_child() || std::this_thread::get_id() != master_ || busy_) return false;
    return busy_ = true;
  }
  void leave() noexcept { busy_ = false; }
  bool in_forked_child() const noexcept { return generation_ != fork_generation(); }

 private:
  const std::thread::id master_ = std::this_thread::get_id();
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
    if (!taken_.load(std::memory_order_relaxed)) return;
    taken_.store(false, std::memory_order_relaxed);
    std::rethrow_exception(std::exchange(error_, nullptr));
  }

 private:
  std::atomic<bool> taken_{false};
  std::exception_ptr error_;
};

}  // namespace corescale::detail
