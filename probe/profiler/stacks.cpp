// SPDX-License-Identifier: Apache-2.0
// Stacks: where a thread is in the code, at each tick of its own CPU clock, and in a wait.
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <bit>
#include <cerrno>

#include "profiler/profiler.hpp"

namespace corescale::profiler {
namespace {

constexpr std::int64_t period = 10'000'000;    // nanoseconds of CPU time; kernels tick every 1 to 10 ms
constexpr std::int64_t yields_again = 50'000;  // between two yields of a loop that spins

// The kernel's number of a timer.
std::int64_t number_of(timer_t timer) { return std::bit_cast<std::intptr_t>(timer); }

struct Walk {
  std::uint64_t* frame;
  std::size_t depth;
  std::uint64_t from;     // the frames before this address are the handler's
  std::uint64_t outside;  // the stack begins with the function that has a variable here
  bool within;            // the last frame is of the allocator's library, which may be the C library
  bool allocates;         // a frame of it returns to where the thread called the allocator, or is `new`
};

_Unwind_Reason_Code step(_Unwind_Context* context, void* given) {
  Walk& walk = *static_cast<Walk*>(given);
  int before = 0;
  const std::uint64_t address = _Unwind_GetIPInfo(context, &before);
  if (!address) return _URC_END_OF_STACK;
  if (walk.from && address != walk.from) return _URC_NO_REASON;
  walk.from = 0;
  const bool returns = walk.within && address == reinterpret_cast<std::uint64_t>(local.caller);
  walk.allocates |= returns || is_new(_Unwind_GetRegionStart(context));
  walk.within = in_allocator(address);
  if (_Unwind_GetCFA(context) < walk.outside) walk.depth = 0;
  walk.frame[walk.depth++] = placed(before ? address : address - 1);
  return walk.depth == deepest ? _URC_END_OF_STACK : _URC_NO_REASON;
}

std::uint64_t counter_of(void* context) {
  const auto& machine = static_cast<ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  return static_cast<std::uint64_t>(machine.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return machine.pc;
#else
  (void)machine;
  return 0;
#endif
}

Stack* entry(const std::uint64_t* frame, std::size_t depth) {
  std::uint64_t key = 1469598103934665603U;
  for (std::size_t i = 0; i < depth; ++i) key = (key ^ frame[i]) * 1099511628211U;
  key |= 1;
  for (std::size_t tried = 0; tried < 64; ++tried) {
    Stack& found = file->stack[(key / 2 + tried) % most_stacks];
    if (!room(&found, sizeof found)) break;
    std::uint64_t seen = __atomic_load_n(&found.key, __ATOMIC_ACQUIRE);
    if (seen == key) return &found;
    if (seen ||
        !__atomic_compare_exchange_n(&found.key, &seen, key, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
      if (seen == key) return &found;
      continue;
    }
    memcpy(found.frame, frame, depth * sizeof *frame);
    __atomic_store_n(&found.depth, depth, __ATOMIC_RELEASE);
    return &found;
  }
  add(file->header.lost_stacks, 1);
  return nullptr;
}

}  // namespace

void book_busy(Thread& thread, std::int64_t time) {
  std::int64_t cpu = thread.cpu - thread.ticked;
  thread.ticked = thread.cpu;
  std::int64_t at = time - file->header.started;
  while (cpu > 0 && at > 0) {
    const std::int64_t place = (at - 1) / bucket;
    const std::int64_t part = at - place * bucket < cpu ? at - place * bucket : cpu;
    if (static_cast<std::size_t>(place) < most_buckets && room(&file->busy[place], sizeof file->busy[place]))
      add(file->busy[place], part);
    cpu -= part;
    at -= part;
  }
}

namespace {

State state_of(const Thread& thread, std::int64_t time, bool allocates) {
  if (local.spinning || time - thread.last_yield < yields_again) return spinning;
  return allocates || local.in_allocator ? allocating : computing;
}

// The time of the first touches of this many pages, computed from cycles by their mean length so far.
std::int64_t clearing(std::int64_t pages, std::int64_t time) {
  const Header& header = file->header;
  const double cycle =
      static_cast<double>(time - header.started) / static_cast<double>(cycles() - header.first_cycle);
  return static_cast<std::int64_t>(static_cast<double>(pages) * cycle * header.cycles_of_a_fault);
}

void look_around(Thread& thread, void* context) {
  const std::int64_t time = now();
  const std::int64_t touched = thread.faults;
  look(thread);
  const std::int64_t used = thread.cpu - thread.ticked;
  ++thread.ticks;
  book_busy(thread, time);
  if (thread.state == computing) {  // a wait is weighed as a whole when it ends
    bool allocates = false;
    Stack* const stack = here(context, &allocates);
    const State state = state_of(thread, time, allocates);
    const std::int64_t cleared =
        state == computing ? std::min(used, clearing(thread.faults - touched, time)) : 0;
    weigh(stack, state, used - cleared);
    weigh(stack, allocating, cleared);
    log(state, used, stack);
    const Word word = file->header.census;
    const int slots = static_cast<int>(file->header.processors);
    const int others = census::nobody(word, slots);
    const int active = census::count(word, census::running);
    if (others && active) weigh(stack, serial, used * others / active);
    if (slots > 1 && active == 1) weigh(stack, alone, used);
  }
  if (thread.faults > touched) time_faults();
  file->header.last_cycle = cycles();
  file->header.ended = now();
}

}  // namespace

void tick(int number, siginfo_t* info, void* context) {
  if (info->si_code != SI_TIMER || info->si_value.sival_ptr != &period) return pass_on(number, info, context);
  const std::uint64_t began = cycles();
  const int error = errno;
  ++ticking;
  if (local.thread && live()) look_around(*local.thread, context);
  --ticking;
  if (local.in_allocator) local.in_ticks += cycles() - began;
  errno = error;
}

void start_ticks() {
  take_signal();
  sigevent event = {};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = signal_of_ticks;
  event.sigev_value.sival_ptr = const_cast<std::int64_t*>(&period);
  event._sigev_un._tid = gettid();
  Thread& thread = *local.thread;
  timer_t timer;
  thread.timer = timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer) == 0 ? number_of(timer) : -1;
  if (thread.timer < 0) {
    add(file->header.lost_timers, 1);
    return;
  }
  // Begins at a random time, so that threads shorter than a period are sampled in proportion to their time.
  const std::int64_t first =
      1 +
      static_cast<std::int64_t>((static_cast<std::uint64_t>(now()) * 6364136223846793005U) >> 20) % period;
  const itimerspec times = {{0, period}, {0, first}};
  timer_settime(timer, 0, &times, nullptr);
}

void stop_ticks(Thread& thread) {
  if (thread.timer >= 0) timer_delete(std::bit_cast<timer_t>(thread.timer));
  thread.timer = -1;
}

// No tick came for so many periods that the CPU time since the last one has no place.
void miss_ticks(const Thread& thread) {
  if (thread.timer >= 0 && thread.cpu - thread.ticked > 10 * period) add(file->header.unticked, 1);
}

Stack* here(void* context, bool* allocates, const void* outside) {
  std::uint64_t frame[deepest];
  Walk walk = {.frame = frame,
               .depth = 0,
               .from = context ? counter_of(context) : 0,
               .outside = reinterpret_cast<std::uint64_t>(outside),
               .within = false,
               .allocates = false};
  _Unwind_Backtrace(step, &walk);
  if (allocates) *allocates = walk.allocates;
  if (!walk.depth && context) frame[walk.depth++] = placed(counter_of(context));
  return walk.depth ? entry(frame, walk.depth) : nullptr;
}

}  // namespace corescale::profiler
