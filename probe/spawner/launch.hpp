// SPDX-License-Identifier: Apache-2.0
// Starts the program. All that can be prepared is prepared, so that the child only sets itself up and
// executes.
#pragma once

#include <sys/mman.h>
#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "kernel/file.hpp"
#include "spawner/arguments.hpp"
#include "spawner/channels.hpp"

namespace corescale::probe {

/// What the child reports to the spawner, in memory that both share.
struct birth {
  /// CLOCK_MONOTONIC seconds, just before the program was executed.
  double started = 0;
  /// The child's schedstat at that moment: what it had used and waited before it executed the program.
  char schedstat[64] = {};
  /// Set if the program could not be executed.
  const char* failed_step = nullptr;
  int error = 0;
};

/// The program, or the child before it executes the program.
class launched {
 public:
  launched(pid_t pid, std::string path, const birth* record, descriptor gate, bool in_group)
      : pid_(pid), path_(std::move(path)), birth_(record), gate_(std::move(gate)), in_group_(in_group) {}
  pid_t pid() const { return pid_; }
  const std::string& path() const { return path_; }
  /// Final once the child executes the program or ends.
  const birth& birth_record() const { return *birth_; }
  /// Whether it was born in the group asked for; if not, it is in the spawner's group.
  bool in_group() const { return in_group_; }
  /// Continues a child that was held for a tracer.
  void release();

 private:
  pid_t pid_;
  std::string path_;
  const birth* birth_;
  descriptor gate_;
  bool in_group_;
};

/// The inherited environment with the changes asked for.
std::vector<std::string> environment_of(const arguments& asked);

/// The file that a command names, looked up in the PATH of `environment`. Throws start_failure.
std::string find_program(const std::string& command, const std::vector<std::string>& environment);

/// What launch() does in addition to the options.
struct launch_manner {
  /// Hold the child for a tracer, until launched::release().
  bool traced = false;
  /// Descriptor of the version 2 group to be born in; -1: none.
  int birthplace = -1;
};

/// Starts the command in a process group of its own, as a shell does. It has no signal blocked, and ignores
/// those that the spawner ignores. It has no descriptors except the channels and the socket that PMI_FD
/// names, and ends when the spawner ends. Returns once the program was executed or could not be executed. If `how.traced`, returns before
/// that. Throws start_failure.
launched launch(const arguments& asked, const channels& io, const launch_manner& how);

}  // namespace corescale::probe
