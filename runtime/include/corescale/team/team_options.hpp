// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace corescale::inline v0 {

/// What create() may be told beside the number of threads.
struct team_options {
  /// Time for which a thread of `spin` with nothing to do spins before it sleeps in the kernel.
  /// 2 ms: a wake-up costs 5 to 30 us, so a program that forks every millisecond pays it never, and one that pauses
  /// wastes at most 2 ms per thread and pause.
  std::chrono::nanoseconds spin_for = std::chrono::milliseconds(2);
};

}  // namespace corescale
