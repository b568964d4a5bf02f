// SPDX-License-Identifier: Apache-2.0
// The beginning and end of threads, and the kernel's accounts of each.
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <threads.h>
#include <unistd.h>

#include <bit>

#include "profiler/blocks.hpp"
#include "profiler/calls.hpp"
#include "profiler/profiler.hpp"

namespace corescale::profiler {
namespace {

pthread_key_t key;
pthread_once_t keyed = PTHREAD_ONCE_INIT;

// A new place; or, if all are taken, the place of a thread that has ended.
Thread* slot() {
  const std::uint32_t taken = __atomic_fetch_add(&file->header.threads, 1, __ATOMIC_RELAXED);
  for (std::size_t i = 0; i < most_threads; ++i) {
    Thread& one = file->thread[(taken + i) % most_threads];
    if (!room(&one, sizeof one)) break;
    if (taken < most_threads) return &one;
    std::int64_t ended = __atomic_load_n(&one.ended, __ATOMIC_RELAXED);
    if (ended &&
        __atomic_compare_exchange_n(&one.ended, &ended, 0, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
      return &one;
  }
  add(file->header.lost_threads, 1);
  return nullptr;
}

// The second number of schedstat: nanoseconds ready and waiting for a CPU. The first lags by a tick.
std::int64_t queued(const calls::Kept& schedstat) {
  char text[96];
  const long length = schedstat.read(text, sizeof text - 1, 0);
  text[length < 0 ? 0 : length] = '\0';
  std::int64_t value = 0;
  const char* digit = strchr(text, ' ');
  for (digit = digit ? digit + 1 : text; *digit >= '0' && *digit <= '9'; ++digit)
    value = value * 10 + (*digit - '0');
  return value;
}

// The calling thread's queue time. If the file is missing, nothing can be read here.
std::int64_t own_queued(Thread& thread, bool last = false) {
  calls::Kept& schedstat = thread.schedstat;
  if (local.late && !last) return 0;
  local.late = true;  // a tick may come in between
  if (!schedstat.is_own() && !schedstat.open("/proc/thread-self/schedstat")) {
    file->header.unqueued = 1;
    return -1;
  }
  const std::int64_t read_now = queued(schedstat);
  if (last || !schedstat.stays())
    schedstat.close();
  else
    local.late = false;
  return read_now;
}

// Another thread's queue time. The file is missing if the thread has just ended.
std::int64_t queued_of(pid_t thread) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%d/schedstat", thread);
  calls::Kept schedstat;
  if (!schedstat.open(path)) {
    if (errno != ENOENT) file->header.unqueued = 1;
    return -1;
  }
  const std::int64_t read_now = queued(schedstat);
  schedstat.close();
  return read_now;
}

void book_queued(Thread& thread, std::int64_t read_now) {
  if (const std::int64_t wait = read_now - thread.queued_before; wait > thread.queued) thread.queued = wait;
}

// A thread of this process that still runs.
void look_at(Thread& thread) {
  if (&thread == local.thread) thread.faults = faults() - thread.faults_before;
  const auto clock = static_cast<clockid_t>((~static_cast<unsigned>(thread.id) << 3) | 6);
  if (const std::int64_t cpu = now(clock) - thread.cpu_before; cpu > thread.cpu) thread.cpu = cpu;
  miss_ticks(thread);
  book_busy(thread, now());
  book_queued(thread, queued_of(thread.id));
}

// What came before it is the profiler's time.
void begin_time() {
  Header& header = file->header;
  header.started = header.ended = now();
  header.first_cycle = header.last_cycle = cycles();
  begin_timeline();
}

void occupy(Thread& thread) {
  if (thread.id) ++thread.others;
  thread.cpu_before -= thread.cpu;
  thread.queued_before -= thread.queued;
  thread.faults_before -= thread.faults;
  thread.id = gettid();
  thread.place = 0;
  thread.since = now();
  if (!thread.started) thread.started = thread.since;
  const bool waits = thread.pool == openmp_pool;
  thread.state = waits ? pooled : computing;
  local.thread = &thread;
  if (!waits) change(census::one(census::running), 0);
  start_ticks();
  begin_allocation();
  pthread_setspecific(key, &thread);
}

template <class Result>
Result run(void* given) {
  auto& thread = *static_cast<Thread*>(given);
  local = {};
  thread.cpu_before = thread.queued_before = thread.faults_before = 0;
  occupy(thread);
  return std::bit_cast<Result (*)(void*)>(thread.start)(std::bit_cast<void*>(thread.argument));
}

// `create` starts a thread with a function and its argument; its result is 0 if there is one.
template <class Result, class Create>
int started(Result (*start)(void*), void* argument, Create create) {
  Thread* const thread = live() ? slot() : nullptr;
  if (!thread) return create(start, argument);
  thread->start = reinterpret_cast<std::uint64_t>(start);
  thread->argument = reinterpret_cast<std::uint64_t>(argument);
  thread->pool = runtime_of(reinterpret_cast<void*>(start));
  const int result = create(run<Result>, thread);
  if (result) __atomic_store_n(&thread->ended, now(), __ATOMIC_RELEASE);
  return result;
}

}  // namespace

std::int64_t faults() {
  rusage used{};
  return getrusage(RUSAGE_THREAD, &used) == 0 ? used.ru_minflt : 0;
}

void change(Word to, Word from) {
  if (!live()) return;
  Word& word = file->header.census;
  for (;;) {
    const Word old = word;  // torn reads fail the exchange
    const std::int64_t last = static_cast<std::int64_t>(old & census::time_mask);
    std::int64_t time = (now() - file->header.started) / census::step;
    if (time < last) time = last;
    const Word made = ((old & ~census::time_mask) + to - from) | static_cast<Word>(time);
    if (!__sync_bool_compare_and_swap(&word, old, made)) continue;
    const std::int64_t length = (time - last) * census::step;
    const int idle = __atomic_load_n(&file->header.idle, __ATOMIC_RELAXED);
    std::int64_t share[shares] = {};
    census::book(old, length, static_cast<int>(file->header.processors), idle, share);
    const int running = census::count(old, census::running);
    if (running == 0) add(file->header.still, length);
    if (running == 1) add(file->header.alone, length);
    Thread& owner = local.thread ? *local.thread : file->thread[0];
    for (unsigned i = 0; i < shares; ++i)
      if (share[i]) add(owner.share[i], share[i]);
    return;
  }
}

void begin_main_thread() {
  pthread_once(&keyed, [] { pthread_key_create(&key, [](void*) { end_thread(); }); });
  forget_watch();
  local = {};
  Thread* const thread = slot();
  if (!thread) return;
  thread->cpu_before = cpu_now();  // the time that this process used before it executed the program
  thread->queued_before = own_queued(*thread);
  thread->faults_before = faults();
  begin_time();
  occupy(*thread);
}

void look(Thread& thread, bool last) {
  thread.cpu = cpu_now() - thread.cpu_before;
  book_queued(thread, own_queued(thread, last));
  thread.faults = faults() - thread.faults_before;
}

void end_thread() {
  Thread* const thread = local.thread;
  if (!thread || !live()) return;
  look(*thread, true);
  miss_ticks(*thread);
  stop_ticks(*thread);
  const std::int64_t time = now();
  log(computing, thread->cpu - thread->ticked);
  book_busy(*thread, time);
  if (thread->state != computing) {  // also if the thread was cancelled in a wait, which it never left
    thread->spent[thread->state] += time - thread->since;
    thread->burnt[thread->state] += cpu_since(*thread, thread->cpu_since);
    if (thread->place)
      weigh(&file->stack[thread->place - 1], static_cast<State>(thread->state), time - thread->since);
  }
  change(0, counted(static_cast<State>(thread->state)));
  if (thread->state == event) add(file->header.idle, -1);
  end_allocation();
  local = {};
  __atomic_store_n(&thread->ended, time, __ATOMIC_RELEASE);
}

void finish() {
  if (!file || file->header.finished || file->header.process != getpid()) return;
  const std::uint32_t begun = file->header.threads;
  for (std::uint32_t i = 0; i < begun && i < most_threads; ++i)
    if (Thread& thread = file->thread[i]; room(&thread, sizeof thread) && thread.id > 0 && !thread.ended)
      look_at(thread);
  change(0, 0);
  read_modules();
  file->header.ended = file->header.finished = now();
  file->header.last_cycle = cycles();
}

}  // namespace corescale::profiler

using namespace corescale::profiler;

CORESCALE_EXPORT int pthread_create(pthread_t* made, const pthread_attr_t* with, void* (*start)(void*),
                                    void* argument) {
  REAL(pthread_create, int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*));
  return started(start, argument, [&](void* (*run)(void*), void* given) {
    return real_pthread_create(made, with, run, given);
  });
}

CORESCALE_EXPORT int thrd_create(thrd_t* made, thrd_start_t start, void* argument) {
  REAL(thrd_create, int(thrd_t*, thrd_start_t, void*));
  return started(start, argument,
                 [&](thrd_start_t run, void* given) { return real_thrd_create(made, run, given); });
}
