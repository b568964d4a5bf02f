// SPDX-License-Identifier: Apache-2.0
#include "corescale/team/calling_thread.hpp"

#include <pthread.h>

#include "corescale/team/detail/membership.hpp"
#include "helpers.hpp"

namespace corescale {
namespace {

// The process-wide state of every team: one copy, in this file.
struct membership {
  std::size_t id = 0;
  bool inside = false;
};

// Read and written on every fork-join: 16 bytes of the static block, instead of a call for each access.
[[gnu::tls_model("initial-exec")]] constinit thread_local membership current;

std::atomic<bool> study_at_work{false};
std::atomic<std::uint64_t> forks{0};
[[maybe_unused]] const int registered =
    pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });

}  // namespace

std::size_t thread_num() noexcept { return current.id; }

bool in_parallel() noexcept { return current.inside || study_at_work.load(std::memory_order_acquire); }

namespace detail {

inside_worker::inside_worker(std::size_t id) noexcept : outer_id_(current.id), outer_inside_(current.inside) {
  current = {id, true};
}

inside_worker::~inside_worker() { current = {outer_id_, outer_inside_}; }

std::uint64_t fork_generation() noexcept { return forks.load(std::memory_order_relaxed); }

bool inside_any_worker() noexcept { return current.inside; }

void set_study_at_work(bool at_work) noexcept { study_at_work.store(at_work, std::memory_order_release); }

}  // namespace detail
}  // namespace corescale
