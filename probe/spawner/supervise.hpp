// SPDX-License-Identifier: Apache-2.0
// Waits for the program, watches it meanwhile and leaves nothing running.
#pragma once

#include <sys/types.h>

#include <functional>
#include <vector>

#include "spawner/arguments.hpp"
#include "spawner/reaping.hpp"

namespace corescale::probe {

/// Why supervision ended.
enum class verdict { exited, timed_out, cancelled };

struct supervised {
  verdict why;
  /// Seconds of the monotonic clock.
  double when;
  /// Processes that outlived the main one, or the whole tree where it was killed but for the main one.
  int leftovers;
  /// Those that could not be killed within ten seconds: of another user, or stuck in the kernel.
  std::vector<pid_t> survivors;
  /// Whether this process was stopped meanwhile, so that it saw the end late.
  bool stopped;
  /// The signal by which the program itself asked this process to end, or 0.
  int asked_by_program;
};

/// Makes this process fit to supervise: signals blocked, for sigtimedwait, which gets those too that the caller ignores, as the
/// program then does; a session of its own, so that a terminal's Ctrl-C does not reach it, unless its caller made it
/// the leader of a process group; subreaper; a cancellation once the parent is gone; no descriptor that the
/// program would inherit.
void become_supervisor();

/// `report` is watched for its reader, whose end cancels. `look` is called at intervals, `at_end` once the main
/// process has ended or is to, before what it left is. `kill_group` kills all that the control group holds, if any.
supervised supervise(const arguments& asked, reaping& children, double started, int report,
                     const std::function<void()>& look, const std::function<void()>& at_end,
                     const std::function<void()>& kill_group);

}  // namespace corescale::probe
