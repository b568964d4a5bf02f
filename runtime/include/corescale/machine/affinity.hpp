// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>

#include <vector>

// The CPUs that threads may run on. The pin of a team on the thread that made it does not count.
namespace corescale::inline v0::detail {

/// The words of the kernel's mask; empty if the kernel does not report it.
using cpu_mask = std::vector<unsigned long>;

/// The mask of the calling thread. If a team has pinned the thread, it is the mask from before.
cpu_mask allowed_mask();

/// The CPUs that any thread of the process may use, so that a pinned thread does not narrow them.
cpu_mask mask_of_process();

/// Held by a thread that makes a pinned team. The thread gets its affinity back when it ends the last such
/// team.
class pin_of_master {
 public:
  pin_of_master();
  ~pin_of_master();
  pin_of_master(const pin_of_master&) = delete;
  pin_of_master& operator=(const pin_of_master&) = delete;

 private:
  pthread_t thread_;
};

/// The calling thread may run on other CPUs while this lives, and threads that it starts inherit them.
class other_affinity {
 public:
  explicit other_affinity(const cpu_mask& meanwhile);
  ~other_affinity();
  other_affinity(const other_affinity&) = delete;
  other_affinity& operator=(const other_affinity&) = delete;

 private:
  cpu_mask before_;  // empty if the thread already has the other CPUs
};

/// While it lives, the calling thread may run on all CPUs of the process.
struct affinity_of_process : other_affinity {
  affinity_of_process() : other_affinity(mask_of_process()) {}
};

/// While it lives, the calling thread may run on the CPUs that it had before a team pinned it.
struct affinity_before_pin : other_affinity {
  affinity_before_pin() : other_affinity(allowed_mask()) {}
};

}  // namespace corescale::detail
