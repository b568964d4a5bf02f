// SPDX-License-Identifier: Apache-2.0
#include "corescale/machine/affinity.hpp"

#include <dirent.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

namespace corescale::inline v0::detail {
namespace {

// The kernel's mask is as long as its largest CPU number needs. 2^16 CPUs are eight times what Linux
// supports.
constexpr std::size_t mask_words = (std::size_t{1} << 16) / (8 * sizeof(unsigned long));

cpu_mask mask_of(long thread) {
  cpu_mask mask(mask_words);
  const long bytes = syscall(SYS_sched_getaffinity, thread, mask.size() * sizeof(unsigned long), mask.data());
  mask.resize(bytes < 0 ? 0 : static_cast<std::size_t>(bytes) / sizeof(unsigned long));
  return mask;
}

void set_mask(const cpu_mask& mask) noexcept {
  syscall(SYS_sched_setaffinity, 0, mask.size() * sizeof(unsigned long), mask.data());
}

/// The teams that pin this thread, and its mask before the first of them.
struct pinned_thread {
  int teams = 0;
  cpu_mask before;
};
thread_local pinned_thread calling;

void add(cpu_mask& all, const cpu_mask& one) {
  if (all.size() < one.size()) all.resize(one.size());
  for (std::size_t word = 0; word < one.size(); ++word) all[word] |= one[word];
}

}  // namespace

cpu_mask allowed_mask() { return calling.teams > 0 ? calling.before : mask_of(0); }

cpu_mask mask_of_process() {
  cpu_mask all = allowed_mask();
  const std::unique_ptr<DIR, int (*)(DIR*)> threads(opendir("/proc/self/task"), closedir);
  while (const dirent* const one = threads ? readdir(threads.get()) : nullptr)
    if (const long thread = std::strtol(one->d_name, nullptr, 10); thread > 0) add(all, mask_of(thread));
  return all;
}

pin_of_master::pin_of_master() : thread_(pthread_self()) {
  if (calling.teams == 0) calling.before = mask_of(0);
  ++calling.teams;
}

pin_of_master::~pin_of_master() {
  if (!pthread_equal(pthread_self(), thread_) || calling.teams == 0)
    return;  // the first also in a child of fork()
  if (--calling.teams == 0) set_mask(calling.before);
}

other_affinity::other_affinity(const cpu_mask& meanwhile) : before_(mask_of(0)) {
  if (meanwhile.empty() || meanwhile == before_)
    before_.clear();
  else
    set_mask(meanwhile);
}

other_affinity::~other_affinity() {
  if (!before_.empty()) set_mask(before_);
}

}  // namespace corescale::detail
