// SPDX-License-Identifier: Apache-2.0
// The result of a launch, and its line of JSON. All values are in seconds and bytes.
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
  /// From the execution of the main program to its end, or to the time at which it was told to end.
  double wall = 0;
  /// Whether the spawner was stopped when the program ended, so that wall is an upper bound.
  bool stopped = false;
  /// At the time limit: how many processes a signal had stopped.
  int halted = 0;
  /// The signal by which the program asked the spawner to end, of which it dies once it has reported; or 0.
  int asked_by_program = 0;
  accounts used;
  /// CPU time of the whole tree. The time of processes that nobody reaped counts as user time.
  double user = 0, system = 0;
  /// group: the time of every process; reaped: the time of processes whose parents waited for them; sampled:
  /// a lower bound, because the time of some process is in neither account.
  const char* cpu_kind = "reaped";
  /// Whether some process ended that nobody waited for.
  bool unreaped = false;
  /// ru_maxrss of the largest process, as GNU time has it.
  std::uint64_t peak_memory = 0;
  /// process: ru_maxrss; sampled: a lower bound, because the peak of a larger process was not reported; none.
  const char* peak_memory_kind = "none";
  /// The spawner's own peak. The program's ru_maxrss starts from it, so a ru_maxrss that is not larger is
  /// only an upper bound.
  std::uint64_t peak_memory_floor = 0;
  /// By how much the kernel's count of resident memory may be off.
  std::uint64_t peak_memory_error = 0;
  /// The largest sample of the anonymous memory of the whole tree: a lower bound.
  std::uint64_t tree_memory = 0;
  /// group: each page once; sum: over the processes, so a page that a fork shares counts in each; none.
  const char* tree_memory_kind = "none";
  double steal = 0, throttled = 0;
  /// Time of other programs and the kernel on the CPUs that the launch might use; an estimate. Empty if its
  /// own time or that of the CPUs is not known.
  std::optional<double> foreign;
  int leftovers = 0;
  std::vector<int> survivors;
  /// Whether processes are left that cannot be examined; the exit status says so.
  bool unseen = false;
  std::vector<int> affinity;
  /// The end of standard error.
  std::string tail;
  std::optional<std::vector<image>> proof;
};

std::string to_json(const report& result);

}  // namespace corescale::probe
