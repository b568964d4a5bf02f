// SPDX-License-Identifier: Apache-2.0
#include "corescale/team/detail/first_round.hpp"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <string>

#include "corescale/team/placement.hpp"

namespace corescale::inline v0::detail {
namespace {

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
  constexpr std::size_t longest = 15;  // the kernel's limit, and a std::string needs no memory for it
  const std::string number = std::to_string(id);
  std::string name(system);
  name.resize(std::min(name.size(), longest - 1 - number.size()));
  name += ' ';
  name += number;
  pthread_setname_np(pthread_self(), name.c_str());
}

}  // namespace

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
