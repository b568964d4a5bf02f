// SPDX-License-Identifier: Apache-2.0
// Starts the program: everything that can be prepared is, so that the child only sets itself up and executes.
#pragma once

#include <sys/mman.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "spawner/arguments.hpp"
#include "spawner/channels.hpp"

namespace corescale::probe {

/// What the child tells the spawner; in memory that both see.
struct birth {
  /// CLOCK_MONOTONIC seconds, just before the program was executed.
  double started = 0;
  /// The child's schedstat then: what it had used and waited on its way to the program.
  char schedstat[64] = {};
  /// Set when it could not be.
  const char* failed_step = nullptr;
  int error = 0;
};

struct launched {
  pid_t pid;
  std::string path;
  /// Final once the child executes the program or ends.
  const birth* told;
};

/// The inherited environment with the changes asked for.
std::vector<std::string> environment_of(const arguments& asked);

/// The file that a command names, looked up in the PATH of `environment`. Throws start_failure.
std::string find_program(const std::string& command, const std::vector<std::string>& environment);

/// Starts the command in a session of its own, so that a terminal's Ctrl-C does not reach it, with default
/// signal dispositions, no signal blocked, no descriptor beside the channels, and an end with the spawner's.
/// `limit_data` asks for the memory limit per process. Without `traced` it returns once the program is
/// executed or could not be; with it, the child waits until release(). Throws start_failure.
launched launch(const arguments& asked, const channels& io, bool limit_data, bool traced);

/// Lets a child that launch() holds for a tracer go on.
void release_traced();

}  // namespace corescale::probe
