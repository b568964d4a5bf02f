// SPDX-License-Identifier: Apache-2.0
#include "corescale/team/calling_thread.hpp"

#include <pthread.h>

#include "corescale/team/detail/team_core.hpp"
#include "parallel_mode.hpp"

namespace corescale::inline v0 {
namespace {

// The process-wide state of every team: one copy, in this file.
std::atomic<std::uint64_t> forks{0};

// The fork generation whose process team is at work: a child forked meanwhile has no team that works.
constexpr std::uint64_t none = ~std::uint64_t{0};
std::atomic<std::uint64_t> at_work_in{none};

// The thread that a fork() leaves is the master of no team from before it.
void begin_child() {
  forks.fetch_add(1, std::memory_order_relaxed);
  detail::calling_thread.identity = nullptr;
}

[[maybe_unused]] const int counts_forks = pthread_atfork(nullptr, nullptr, begin_child);

}  // namespace

team_place current_team() noexcept {
  const detail::membership* const innermost = detail::calling_thread.innermost;
  return innermost ? innermost->place : team_place();
}

std::size_t thread_num() noexcept { return current_team().id; }

bool in_parallel() noexcept {
  return detail::inside_any_worker() ||
         at_work_in.load(std::memory_order_acquire) == detail::fork_generation();
}

namespace detail {

constinit thread_local thread_state calling_thread;

std::uint64_t fork_generation() noexcept { return forks.load(std::memory_order_relaxed); }

void set_process_team_at_work(bool at_work) noexcept {
  at_work_in.store(at_work ? fork_generation() : none, std::memory_order_release);
}

}  // namespace detail
}  // namespace corescale
