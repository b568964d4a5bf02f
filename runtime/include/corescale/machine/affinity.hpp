// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>

#include <vector>

// Which CPUs threads may run on, where a team narrows that of the thread that made it.
namespace corescale::inline v0::detail {

/// The words of the kernel's mask; empty where the kernel does not tell.
using cpu_mask = std::vector<unsigned long>;

/// Of the calling thread; of one that a team has pinned, what it was before.
cpu_mask allowed_mask();

/// What any thread of the process may use, as allowed_mask() has it for the calling one: a thread that is pinned does not narrow it.
cpu_mask mask_of_process();

/// By the thread that makes a pinned team: its affinity is given back when it ends the last of those that it made.
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
  cpu_mask before_;  // empty: it has them already
};

/// Those of the whole process.
struct affinity_of_process : other_affinity {
  affinity_of_process() : other_affinity(mask_of_process()) {}
};

/// Those that it had before a team pinned it.
struct affinity_before_pin : other_affinity {
  affinity_before_pin() : other_affinity(allowed_mask()) {}
};

}  // namespace corescale::detail
