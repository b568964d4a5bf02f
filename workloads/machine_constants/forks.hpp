// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <corescale/team/any_team.hpp>
#include <thread>

#include "driver/error.hpp"
#include "machine_constants/lines.hpp"

namespace machine_constants {

/// A team of the default system, each thread on its CPU.
inline corescale::any_team pinned_team(std::size_t threads) {
  corescale::any_team team =
      corescale::make_team(threads, corescale::default_threading_system, {.pin = true});
  if (!team) team = corescale::make_team(threads);
  if (!team) throw driver::Error("machine_constants", "no team of threads can be made", "allow more threads");
  return team;
}

/// Fork and join of k threads of a team, called one after the other without a pause.
inline Quantity fork_hot(corescale::any_team& team, std::size_t k) {
  std::vector<double> seen(51);
  const auto nothing = [](std::size_t) {};
  for (double& one : seen)
    one = ns_of_each(500, [&] {
      for (int call = 0; call < 500; ++call) (void)team.work(k, nothing);
    });
  return typical(seen);
}

/// Fork and join after a pause in which the threads fall asleep.
inline Quantity fork_cold(corescale::any_team& team, std::size_t k) {
  std::vector<double> seen;
  for (int run = 0; run < 31; ++run) {
    std::this_thread::sleep_for(std::chrono::milliseconds(8));
    seen.push_back(ns_of_each(1, [&] { (void)team.work(k, [](std::size_t) {}); }));
  }
  return typical(seen);
}

}  // namespace machine_constants
