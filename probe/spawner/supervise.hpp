// SPDX-License-Identifier: Apache-2.0
// Waits for the program, watches it meanwhile and leaves nothing running.
#pragma once

#include "spawner/arguments.hpp"
#include "spawner/channels.hpp"
#include "spawner/reaping.hpp"

namespace corescale::probe {

/// Why supervision ended.
enum class verdict { exited, timed_out, cancelled };

struct supervised {
  verdict why;
  /// Processes that outlived the main one, or the whole tree where it was killed but for the main one.
  int leftovers;
  /// Those that could not be killed within ten seconds: of another user, or stuck in the kernel.
  int survivors;
};

/// Makes this process fit to supervise: signals blocked, for sigtimedwait, with default dispositions for the
/// program; subreaper; a cancellation once the parent is gone; no descriptor that the program would inherit.
void become_supervisor();

/// `report` is watched for its reader, whose end cancels.
supervised supervise(const arguments& asked, const channels& io, reaping& children, double started,
                     int report);

}  // namespace corescale::probe
