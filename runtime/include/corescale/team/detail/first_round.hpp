// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>

#include <csignal>
#include <cstddef>
#include <optional>
#include <vector>

#include "corescale/machine/topology.hpp"
#include "corescale/team/team_options.hpp"

// What happens to a team's threads before their first worker.
namespace corescale::inline v0::detail {

/// Holds back the signals of the program while this lives: a thread that starts meanwhile never handles one.
/// Those that a thread brings on itself, and SIGPROF, by which profilers sample, still reach it.
class signals_held_back {
 public:
  signals_held_back() noexcept;
  ~signals_held_back();
  signals_held_back(const signals_held_back&) = delete;
  signals_held_back& operator=(const signals_held_back&) = delete;

 private:
  sigset_t before_;
};

/// The affinity of the thread that made a pinned team, given back when the same thread ends the team.
class masters_affinity {
 public:
  masters_affinity();
  ~masters_affinity();
  masters_affinity(const masters_affinity&) = delete;
  masters_affinity& operator=(const masters_affinity&) = delete;

 private:
  pthread_t thread_;
  std::vector<unsigned long> mask_;
};

/// Names and pins each thread, and calls the program's on_thread_start.
class first_round {
 public:
  first_round(const char* system, std::size_t num_threads, const team_options& options);
  void operator()(std::size_t id) const;

 private:
  const char* system_;
  const team_options& options_;
  std::vector<cpu_place> places_;  // empty: not pinned
};

}  // namespace corescale::detail
