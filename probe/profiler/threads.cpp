// SPDX-License-Identifier: Apache-2.0
// Where threads begin and end, and what the kernel accounts to each.
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bit>

#include "profiler/profiler.hpp"

namespace corescale::profiler {
namespace {

pthread_key_t key;
pthread_once_t keyed = PTHREAD_ONCE_INIT;

Thread* slot() {
  const std::uint32_t taken = __atomic_fetch_add(&file->header.threads, 1, __ATOMIC_RELAXED);
  return taken < most_threads ? &file->thread[taken] : nullptr;
}

// The second number of schedstat: nanoseconds ready and waiting for a CPU. The first lags by a tick.
std::int64_t queued(const char* path) {
  const int schedstat = open(path, O_RDONLY | O_CLOEXEC);
  if (schedstat < 0) return 0;
  char text[96];
  const ssize_t length = read(schedstat, text, sizeof text - 1);
  close(schedstat);
  text[length < 0 ? 0 : length] = '\0';
  std::int64_t value = 0;
  const char* digit = strchr(text, ' ');
  for (digit = digit ? digit + 1 : text; *digit >= '0' && *digit <= '9'; ++digit)
    value = value * 10 + (*digit - '0');
  return value;
}

// One of this process that still runs.
void look_at(Thread& thread) {
  const auto clock = static_cast<clockid_t>((~static_cast<unsigned>(thread.id) << 3) | 6);
  if (const std::int64_t cpu = now(clock); cpu > thread.cpu) thread.cpu = cpu;
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%d/schedstat", static_cast<int>(thread.id));
  if (const std::int64_t wait = queued(path); wait > thread.queued) thread.queued = wait;
}

void occupy(Thread& thread) {
  thread.id = static_cast<std::int32_t>(syscall(SYS_gettid));
  thread.started = thread.since = now();
  const bool waits = thread.pool == openmp_pool;
  thread.state = waits ? pooled : computing;
  local = {};
  local.thread = &thread;
  if (!waits) change(census::one(census::running), 0);
  start_ticks();
  begin_allocation();
}

void* run(void* given) {
  auto& thread = *static_cast<Thread*>(given);
  occupy(thread);
  pthread_setspecific(key, &thread);
  return std::bit_cast<void* (*)(void*)>(thread.start)(std::bit_cast<void*>(thread.argument));
}

}  // namespace

void change(Word to, Word from) {
  Word& word = file->header.census;
  for (;;) {
    const Word old = word;  // torn reads fail the exchange
    const std::int64_t last = static_cast<std::int64_t>(old & census::time_mask);
    std::int64_t time = (now() - file->header.started) / census::step;
    if (time < last) time = last;
    const Word made = ((old & ~census::time_mask) + to - from) | static_cast<Word>(time);
    if (!__sync_bool_compare_and_swap(&word, old, made)) continue;
    std::int64_t share[shares] = {};
    census::book(old, (time - last) * census::step, static_cast<int>(file->header.processors), share);
    Thread& owner = local.thread ? *local.thread : file->thread[0];
    for (unsigned i = 0; i < shares; ++i)
      if (share[i]) add(owner.share[i], share[i]);
    return;
  }
}

void begin_main_thread() {
  pthread_once(&keyed, [] { pthread_key_create(&key, [](void*) { end_thread(); }); });
  if (Thread* const thread = slot()) occupy(*thread);
}

void look(Thread& thread) {
  thread.cpu = cpu_now();
  thread.queued = queued("/proc/thread-self/schedstat");
}

void end_thread() {
  Thread* const thread = local.thread;
  if (!thread || !file) return;
  stop_ticks();
  look(*thread);
  const std::int64_t time = now();
  if (thread->state != computing) {  // also where it was cancelled, and left no wait
    thread->spent[thread->state] += time - thread->since;
    thread->burnt[thread->state] += thread->cpu - thread->cpu_since;
  }
  change(0, counted(static_cast<State>(thread->state)));
  thread->ended = time;
  local = {};
}

void finish() {
  if (!file || file->header.finished || file->header.process != getpid()) return;
  const std::uint32_t begun = file->header.threads;
  for (std::uint32_t i = 0; i < begun && i < most_threads; ++i)
    if (Thread& thread = file->thread[i]; thread.id > 0 && !thread.ended) look_at(thread);
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
  Thread* const thread = file ? slot() : nullptr;
  if (!thread) return real_pthread_create(made, with, start, argument);
  thread->start = reinterpret_cast<std::uint64_t>(start);
  thread->argument = reinterpret_cast<std::uint64_t>(argument);
  thread->pool = runtime_of(reinterpret_cast<void*>(start));
  const int result = real_pthread_create(made, with, run, thread);
  if (result) thread->id = -1;
  return result;
}
