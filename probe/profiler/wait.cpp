// SPDX-License-Identifier: Apache-2.0
// One wait of a thread: its time, its CPU time and its place.
#include <algorithm>
#include <cerrno>
#include <cstdint>

#include "profiler/profiler.hpp"

namespace corescale::profiler {
namespace {
// Nanoseconds. A wait at least as long is weighed as it is. A shorter one counts as so long, with the chance length / worth_a_stack.
constexpr std::int64_t worth_a_stack = 500'000;
// Nanoseconds from the beginning of a thread's last wait. After so long, a stack at the beginning of the next one costs nothing.
constexpr std::int64_t rare = 10'000'000;
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
    case event:
      return 0;
    default:
      return census::one(census::running);
  }
}

void turn(State to, State from) {
  change(counted(to), counted(from));
  if (to == event) add(file->header.idle, 1);
  if (from == event) add(file->header.idle, -1);
}

Wait::Wait(State state) : state_(state) {
  // A signal handler that waits may interrupt its thread while it begins or ends a wait.
  if (!live() || !local.thread || local.wait || local.thread->state != computing) return;
  const int error = errno;
  local.wait = this;
  Thread& thread = *local.thread;
  shortest_ = state_ == pooled ? INT64_MAX : next_random() % worth_a_stack;
  // Only the end shows whether the stack is needed. But other threads may wait for what this one does then, and the program may end
  // before the wait does.
  const std::int64_t last = thread.since;
  thread.since = now();
  const bool seldom = state_ != pooled && (!thread.calls[state_] || thread.since - last >= rare);
  if (seldom || shortest_ < thread.lately[state_]) {
    stack_ = here(nullptr, nullptr, this);
    thread.since = now();
  }
  outer_ = thread.place;
  thread.place = stack_ ? stack_ - file->stack + 1 : 0;
  thread.cpu_since = cpu_of(thread);
  ++thread.calls[state_];
  __atomic_store_n(&thread.state, static_cast<std::uint32_t>(state_), __ATOMIC_RELAXED);
  turn(state_, computing);
  still_ = __atomic_load_n(&file->header.still, __ATOMIC_RELAXED);
  errno = error;
}

Wait::~Wait() { end(); }

void Wait::end() {
  if (local.wait != this) return;
  local.wait = nullptr;
  if (!live()) return;
  const int error = errno;
  Thread& thread = *local.thread;
  turn(computing, state_);
  const std::int64_t length = now() - thread.since;
  const std::int64_t since = __atomic_load_n(&file->header.still, __ATOMIC_RELAXED) - still_;
  const std::int64_t still = state_ == event ? std::min(length, since) : 0;
  thread.burnt[state_] += cpu_since(thread, thread.cpu_since);
  // From here a handler's wait may use the times of this thread.
  __atomic_store_n(&thread.state, static_cast<std::uint32_t>(computing), __ATOMIC_RELAXED);
  thread.place = outer_;
  book(length, still);
  errno = error;
}

void Wait::book(std::int64_t length, std::int64_t still) {
  Thread& thread = *local.thread;
  thread.spent[state_] += length - still;
  thread.spent[blocked] += still;
  const bool counts = shortest_ < length;
  if (counts && !stack_) stack_ = here(nullptr, nullptr, this);
  const auto place = [&](State state, std::int64_t part) {
    log(state, part, stack_);
    if (counts) weigh(stack_, state, length < worth_a_stack ? worth_a_stack * part / length : part);
  };
  place(state_, length - still);
  if (still) place(blocked, still);
  thread.lately[state_] += (std::min(length, worth_a_stack) - thread.lately[state_]) / 4;
}

}  // namespace corescale::profiler
