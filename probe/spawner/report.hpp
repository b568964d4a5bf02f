// SPDX-License-Identifier: Apache-2.0
// What a launch gave, and its one line of JSON. Seconds and bytes throughout.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernel/accounts.hpp"
#include "spawner/failure.hpp"
#include "spawner/trace.hpp"

namespace corescale::probe {

struct report {
  /// ok, failed (exit code not 0), signal, timeout, cancelled or not-started.
  const char* status = "not-started";
  std::optional<int> exit_code, signal;
  std::optional<start_failure> failure;
  /// Since the epoch.
  double started = 0;
  /// From the execution of the main program to its end.
  double wall = 0;
  accounts used;
  /// CPU time of the whole tree. What nobody reaped counts as user time.
  double user = 0, system = 0;
  /// group: of every process; reaped: of those whose parents waited for them; sampled: a lower bound.
  const char* cpu_kind = "reaped";
  std::uint64_t peak_memory = 0;
  /// anonymous (the group's, sampled), anonymous-sum (of the processes, sampled), process (the largest,
  /// mapped files included) or none. Never to be compared with one another.
  const char* peak_memory_kind = "none";
  double steal = 0, throttled = 0;
  /// Time of other programs and the kernel on the CPUs that it might use, an estimate; nothing where its own or
  /// theirs is not known.
  std::optional<double> foreign;
  int leftovers = 0, survivors = 0;
  std::vector<int> affinity;
  std::optional<std::uint64_t> stdout_bytes;
  std::string tail, stdout_tail;
  std::optional<std::vector<image>> proof;
};

std::string to_json(const report& result);

}  // namespace corescale::probe
