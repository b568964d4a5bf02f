// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>

#include "corescale/team/team.hpp"

namespace corescale {

struct spin_options {
  /// How long a thread with nothing to do spins before it sleeps in the kernel. 2 ms: a wake-up costs 5 to 30
  /// us, so a program that forks every millisecond pays it never, and one that pauses wastes at most 2 ms per
  /// thread and pause.
  std::chrono::nanoseconds spin_for = std::chrono::milliseconds(2);
};

/// The default team: spin, then sleep. A fork-join costs two cache-line round trips while the threads spin,
/// and one wake-up once they sleep. It spins for microseconds only where a spinning thread would take a core
/// from a working one: in a team larger than usable_cores(), and from the moment the spinning thread finds it
/// has been preempted.
class spin_team {
 public:
  static std::unique_ptr<spin_team> create(std::size_t num_threads) {
    return create(num_threads, spin_options{});
  }
  static std::unique_ptr<spin_team> create(std::size_t num_threads, spin_options options);
  ~spin_team();
  spin_team(const spin_team&) = delete;
  spin_team& operator=(const spin_team&) = delete;

  bool work(worker_ref worker);
  std::size_t num_threads() const noexcept;

 private:
  struct state;
  explicit spin_team(std::unique_ptr<state> threads) noexcept;
  std::unique_ptr<state> state_;
};

static_assert(team<spin_team>);

}  // namespace corescale
