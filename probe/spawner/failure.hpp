// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace corescale::probe {

/// Why the program could not be started: the step that failed and its errno. Steps: stdin, stdout, stderr,
/// scratch, find (no such program), exec (it is not a program that may be run), interpreter (its #! line or
/// dynamic loader names a file that is not there), affinity, trace, process.
struct start_failure {
  const char* step;
  int error;
};

}  // namespace corescale::probe
