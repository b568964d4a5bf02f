// SPDX-License-Identifier: Apache-2.0
#include "corescale/machine/affinity.hpp"

#include <dirent.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

// Functions of OpenMP, and one that only libomp has; null if the program does not use that library.
extern "C" {
int omp_get_num_places() __attribute__((weak));
int omp_get_place_num_procs(int place) __attribute__((weak));
void omp_get_place_proc_ids(int place, int* cpus) __attribute__((weak));
// NOLINTNEXTLINE(bugprone-reserved-identifier)
void __kmpc_begin(void* where, int flags) __attribute__((weak));
}

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

void add_cpu(cpu_mask& all, int cpu) {
  constexpr std::size_t bits = 8 * sizeof(unsigned long);
  const std::size_t word = static_cast<std::size_t>(cpu) / bits;
  if (all.size() <= word) all.resize(word + 1);
  all[word] |= 1UL << (static_cast<std::size_t>(cpu) % bits);
}

/// If OMP_PROC_BIND is set, libgomp pins the first thread to a place when it is loaded. Until libgomp has more threads, only its list of
/// places shows the other CPUs. libomp pins no thread before its first region; a query would start its threads.
void add_places_of_libgomp(cpu_mask& all) {
  if (!omp_get_num_places || !omp_get_place_num_procs || !omp_get_place_proc_ids || __kmpc_begin) return;
  for (int place = 0; place < omp_get_num_places(); ++place) {
    std::vector<int> cpus(static_cast<std::size_t>(omp_get_place_num_procs(place)));
    omp_get_place_proc_ids(place, cpus.data());
    for (const int cpu : cpus) add_cpu(all, cpu);
  }
}

}  // namespace

cpu_mask allowed_mask() { return calling.teams > 0 ? calling.before : mask_of(0); }

cpu_mask mask_of_process() {
  cpu_mask all = allowed_mask();
  const std::unique_ptr<DIR, int (*)(DIR*)> threads(opendir("/proc/self/task"), closedir);
  while (const dirent* const one = threads ? readdir(threads.get()) : nullptr)
    if (const long thread = std::strtol(one->d_name, nullptr, 10); thread > 0) add(all, mask_of(thread));
  add_places_of_libgomp(all);
  return all;
}

pin_of_master::pin_of_master() : thread_(pthread_self()) {
  if (calling.teams == 0) calling.before = mask_of(0);
  ++calling.teams;
}

pin_of_master::~pin_of_master() {
  if (!pthread_equal(pthread_self(), thread_) || calling.teams == 0)
    return;  // another thread, perhaps in a child of fork()
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
