// SPDX-License-Identifier: Apache-2.0
#include "corescale/team/detail/first_round.hpp"

#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>

#include "corescale/team/placement.hpp"

namespace corescale::inline v0::detail {
namespace {

// The kernel's masks are as long as its largest CPU number asks for: 2^16 CPUs are eight times what Linux supports.
constexpr std::size_t mask_words = (std::size_t{1} << 16) / (8 * sizeof(unsigned long));

void set_affinity_to(int cpu) noexcept {
  cpu_set_t* const only = CPU_ALLOC(cpu + 1);
  if (!only) return;
  const std::size_t bytes = CPU_ALLOC_SIZE(cpu + 1);
  CPU_ZERO_S(bytes, only);
  CPU_SET_S(cpu, bytes, only);
  sched_setaffinity(
      0, bytes, only);  // fails where the process may no longer use that CPU: the thread then stays unpinned
  CPU_FREE(only);
}

void name_calling_thread(const char* system, std::size_t id) noexcept {
  constexpr std::size_t longest = 15;  // the kernel's limit
  char name[64];
  std::snprintf(name, sizeof name, "%s %zu", system, id);
  name[longest] = '\0';
  pthread_setname_np(pthread_self(), name);
}

}  // namespace

signals_held_back::signals_held_back() noexcept {
  sigset_t all;
  sigfillset(&all);
  for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT, SIGPROF})
    sigdelset(&all, own);
  pthread_sigmask(SIG_BLOCK, &all, &before_);
}

signals_held_back::~signals_held_back() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

masters_affinity::masters_affinity() : thread_(pthread_self()), mask_(mask_words) {
  const long bytes = syscall(SYS_sched_getaffinity, 0, mask_words * sizeof(unsigned long), mask_.data());
  mask_.resize(bytes < 0 ? 0 : static_cast<std::size_t>(bytes) / sizeof(unsigned long));
}

masters_affinity::~masters_affinity() {
  if (pthread_equal(pthread_self(), thread_))  // in a child of fork() too
    syscall(SYS_sched_setaffinity, 0, mask_.size() * sizeof(unsigned long), mask_.data());
}

first_round::first_round(const char* system, std::size_t num_threads, const team_options& options)
    : system_(system), options_(options) {
  if (options.pin) places_ = place_threads(num_threads);
}

void first_round::operator()(std::size_t id) const {
  if (id > 0) name_calling_thread(system_, id);
  if (!places_.empty()) set_affinity_to(places_[id].cpu);
  if (options_.on_thread_start) options_.on_thread_start(id);
}

}  // namespace corescale::detail
