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
  /// Processes that outlived the main one. If the tree was killed: all its processes except the main one.
  int leftovers;
  /// Processes that could not be killed within ten seconds: they are another user's, or are stuck in the kernel.
  std::vector<pid_t> survivors;
  /// Whether something is left that cannot be seen from here, so that the lab must end it.
  bool unseen;
  /// Whether this process was stopped when the program ended, and so saw the end late.
  bool stopped;
  /// At the time limit: how many processes a signal had stopped.
  int halted;
  /// The signal by which the program itself asked this process to end, or 0.
  int asked_by_program;
};

/// Prepares this process to supervise. It blocks signals, which sigtimedwait then receives, even those that the caller (and so the
/// program) ignores. It starts a session, so that a terminal's Ctrl-C does not reach it, unless the caller made it the leader of a
/// process group. It becomes a subreaper, is cancelled when the parent is gone, and leaves no descriptor for the program to inherit.
void become_supervisor();

/// Cancels once the reader of `report` is gone. `look` is called at intervals. `at_end` is called once the
/// main process has ended or must end, before its leftovers are killed. `kill_group` kills all that the
/// control group holds, if any.
supervised supervise(const arguments& asked, reaping& children, double started, int report,
                     const std::function<void()>& look, const std::function<void()>& at_end,
                     const std::function<void()>& kill_group);

}  // namespace corescale::probe
