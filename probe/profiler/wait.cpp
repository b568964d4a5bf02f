// SPDX-License-Identifier: Apache-2.0
// One wait of a thread: its time, its CPU time and its place.
#include <cerrno>

#include "profiler/profiler.hpp"

namespace corescale::profiler {
namespace {
constexpr std::int64_t worth_a_stack = 500'000;  // of waiting, for which one stack stands
}

Word counted(State state) {
  switch (state) {
    case locking:
      return census::one(census::lock);
    case barrier:
      return census::one(census::barriers);
    case joining:
      return census::one(census::joins);
    case message:
      return census::one(census::messages);
    case blocked:
      return census::one(census::blocks);
    case pooled:
      return 0;
    default:
      return census::one(census::running);
  }
}

Wait::Wait(State state) : state_(state) {
  if (!live() || !local.thread || local.thread->state != computing) return;
  const int error = errno;
  local.wait = this;
  Thread& thread = *local.thread;
  if (state_ != pooled && (thread.unsited[state_] >= worth_a_stack || !thread.calls[state_])) {
    stack_ = here();
    thread.unsited[state_] = 0;
  }
  thread.since = now();
  thread.cpu_since = cpu_now();
  ++thread.calls[state_];
  __atomic_store_n(&thread.state, static_cast<std::uint32_t>(state_), __ATOMIC_RELAXED);
  change(counted(state_), census::one(census::running));
  errno = error;
}

Wait::~Wait() { end(); }

void Wait::end() {
  if (local.wait != this) return;
  local.wait = nullptr;
  if (!live()) return;
  const int error = errno;
  Thread& thread = *local.thread;
  change(census::one(census::running), counted(state_));
  __atomic_store_n(&thread.state, static_cast<std::uint32_t>(computing), __ATOMIC_RELAXED);
  const std::int64_t length = now() - thread.since;
  thread.spent[state_] += length;
  thread.burnt[state_] += cpu_since(thread.cpu_since);
  thread.unsited[state_] += length;
  log(state_, length, stack_);
  if (stack_) {
    weigh(stack_, state_, thread.unsited[state_]);
    thread.unsited[state_] = 0;
  }
  errno = error;
}

}  // namespace corescale::profiler
