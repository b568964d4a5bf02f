// SPDX-License-Identifier: Apache-2.0
// The options of the spawner.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace corescale::probe {

struct arguments {
  /// A descriptor number or a file; required.
  std::string report;
  /// The text of /proc/PID/environ of the process whose environment the program gets; empty: the spawner's
  /// own.
  std::string inherited;
  /// In the order given; no value unsets.
  std::vector<std::pair<std::string, std::optional<std::string>>> environment;
  /// Empty: as inherited.
  std::vector<int> affinity;
  /// Seconds; 0: none.
  double timeout = 0;
  /// Seconds between SIGTERM and SIGKILL for the main program. The default is 0, because only launchers that must reach other machines,
  /// such as mpirun and srun, need time to end.
  double grace = 0;
  /// By default the program has no input, so that one that asks a question ends instead of waiting.
  std::string input = "/dev/null";
  std::string output = "/dev/null";
  /// If empty, errors go nowhere, or into a scratch file if `tail` is set.
  std::string errors;
  /// The number of last bytes of standard error that are in the report.
  std::uint64_t tail = 0;
  /// For scratch files; empty: $TMPDIR, else /tmp.
  std::string scratch;
  /// Milliseconds between samples of the tree, lengthened so that samples take under half a percent of a core; 0: no samples.
  std::uint64_t sample_ms = 100;
  bool prove = false;
  bool groups = true;
  /// The process whose end cancels the launch; 0: the spawner's parent.
  pid_t parent = 0;
  /// Another process whose end cancels the launch, checked at each sample of the tree; 0: none.
  pid_t beside = 0;
  std::vector<std::string> command;
};

struct usage_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Throws usage_error, which names the option.
arguments parse_arguments(const std::vector<std::string>& words);

/// One line for each option.
const char* usage();

}  // namespace corescale::probe
