// SPDX-License-Identifier: Apache-2.0
// OpenMP on the runtimes that compilers bring: the outlined body of each thread of a region is timed. There
// are two sets of entry points, GCC's and LLVM's; Intel's runtime has LLVM's.
#include <stdarg.h>

#include <algorithm>

#include "profiler/profiler.hpp"

namespace corescale::profiler {

struct Team {
  const void* runtime;
  std::uint64_t function;
  Thread* master;
  int (*size_of_team)();
  std::int64_t expected, threads, body, longest, inside;

  void computed(std::int64_t length, std::int64_t by_thread) {
    add(body, length);
    for (std::int64_t most = longest;
         most < by_thread && !__atomic_compare_exchange_n(&longest, &most, by_thread, true, __ATOMIC_RELAXED,
                                                          __ATOMIC_RELAXED);) {
    }
  }
};

namespace {

Word several(std::int64_t waiting) { return census::one(census::barriers) * static_cast<Word>(waiting); }

// While a master starts the other threads, it does not wait. So its CPU time is taken to be the elapsed time, unless that is so long that
// it was interrupted. Asking for it would take two system calls in each region.
constexpr std::int64_t longest_start = 50'000;

struct Body {
  Team& team;
  Thread* thread;
  const void* const outer = local.runtime;
  std::int64_t began = 0, waited = 0;

  explicit Body(Team& of) : team(of), thread(of.master && live() ? local.thread : nullptr) {
    local.runtime = team.runtime;
    local.team = thread ? &team : nullptr;
    if (!thread) return;
    if (thread == team.master) {
      team.threads = team.size_of_team();
      const std::int64_t length = now() - thread->since;
      thread->spent[barrier] += length;
      log(barrier, length);
      thread->burnt[barrier] += std::min(length, longest_start);
      thread->state = computing;
      change(census::one(census::running) + several(team.threads - 1), several(team.expected));
    } else {
      const std::int64_t time = now();
      thread->spent[pooled] += time - thread->since;
      log(pooled, time - thread->since);
      thread->burnt[pooled] += cpu_since(*thread, thread->cpu_since);
      thread->state = computing;
      change(census::one(census::running), census::one(census::barriers));
    }
    waited = thread->spent[barrier];
    began = now();
  }
  ~Body() {
    local.runtime = outer;
    if (!thread || !live()) return;
    const std::int64_t inside = thread->spent[barrier] - waited;
    const std::int64_t time = now(), length = time - began - inside;
    change(census::one(census::barriers), census::one(census::running));
    team.computed(length, length);
    add(team.inside, inside);
    local.in_team = length;
    thread->since = time;
    thread->cpu_since = cpu_of(*thread);
    thread->state = thread == team.master ? barrier : pooled;
  }
};

Region* region_of(std::uint64_t function) {
  for (std::size_t tried = 0; tried < 64; ++tried) {
    Region& found = file->region[(function / 16 + tried) % most_regions];
    if (!room(&found, sizeof found)) break;
    std::uint64_t seen = 0;
    if (__atomic_compare_exchange_n(&found.function, &seen, function, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED) ||
        seen == function)
      return &found;
  }
  return nullptr;
}

template <class Fork>
auto region(Team& team, Fork fork) {
  Thread& master = *team.master;
  Team* const outer = local.team;
  const std::int64_t before = local.in_team;
  const std::int64_t began = now();
  // The workers of the last region may be late for this region.
  change(several(team.expected), census::one(census::running));
  master.since = began;
  master.cpu_since = master.cpu_before + master.cpu;  // may be approximate: see longest_start
  master.state = barrier;
  auto result = fork();
  local.team = outer;
  local.in_team = before;
  if (!live()) return result;
  const std::int64_t time = now(), wall = time - began;
  change(census::one(census::running), several(team.threads ? team.threads : team.expected));
  master.state = computing;
  master.spent[barrier] += time - master.since;
  log(barrier, time - master.since);
  master.burnt[barrier] += cpu_since(master, master.cpu_since);
  ++master.calls[barrier];
  if (Region* const booked = region_of(placed(team.function))) {
    add(booked->calls, 1);
    add(booked->threads, team.threads);
    add(booked->wall, wall);
    add(booked->body, team.body);
    add(booked->longest, team.longest);
    add(booked->capacity, wall * team.threads);
    add(booked->inside, team.inside);
  }
  return result;
}

// `fork`: the runtime's function that was called; there may be several runtimes.
Team team_of(const void* fork, std::uint64_t function, unsigned threads) {
  static constinit Next<int()> num_threads("omp_get_num_threads"), max_threads("omp_get_max_threads");
  Thread* const master = live() && local.thread && local.thread->state == computing ? local.thread : nullptr;
  if (!master) return {fork, function, nullptr, nullptr, 0, 0, 0, 0, 0};
  const std::int64_t expected = threads ? threads : max_threads.beside(fork)();
  return {fork, function, master, num_threads.beside(fork), expected, 0, 0, 0, 0};
}

// GCC: one function of one argument.
struct Gomp : Team {
  void (*body)(void*);
  void* data;
};

void gomp_member(void* given) {
  Gomp& team = *static_cast<Gomp*>(given);
  const Body timed(team);
  team.body(team.data);
}

using GompFork = unsigned long(void (*)(void*), void*, unsigned, long, long, long, long, long);

unsigned long gomp(GompFork* real, void (*body)(void*), void* data, unsigned threads, long a, long b, long c,
                   long d, long e) {
  if (!real) return body(data), 1;  // a program that asked whether there is a runtime: it has one thread
  Gomp team = {team_of(reinterpret_cast<void*>(real), reinterpret_cast<std::uint64_t>(body), threads), body,
               data};
  const auto fork = [&] { return real(gomp_member, &team, threads, a, b, c, d, e); };
  return team.master ? region(team, fork) : fork();
}

// LLVM: a function of two numbers and as many pointers as the region shares. Passing more pointers than it
// takes does no harm.
constexpr int few_shared = 16, most_shared = 256;
using Micro = void(std::int32_t*, std::int32_t*, ...);

struct Kmpc : Team {
  Micro* body;
  std::int32_t count;
  void* shared[most_shared];
};

#define FOUR(k) s[k], s[(k) + 1], s[(k) + 2], s[(k) + 3]
#define SIXTEEN(k) FOUR(k), FOUR((k) + 4), FOUR((k) + 8), FOUR((k) + 12)
#define SIXTY_FOUR(k) SIXTEEN(k), SIXTEEN((k) + 16), SIXTEEN((k) + 32), SIXTEEN((k) + 48)

void kmpc_member(std::int32_t* thread, std::int32_t* bound, Kmpc* team) {
  const Body timed(*team);
  void** s = team->shared;
  if (team->count <= few_shared) return team->body(thread, bound, SIXTEEN(0));
  team->body(thread, bound, SIXTY_FOUR(0), SIXTY_FOUR(64), SIXTY_FOUR(128), SIXTY_FOUR(192));
}

}  // namespace

Task::Task() : thread_(live() ? local.thread : nullptr) {
  if (thread_ && thread_->state != barrier && thread_->state != pooled) thread_ = nullptr;
  if (!thread_) return;
  state_ = static_cast<State>(thread_->state);
  wait_ = local.wait;
  local.wait = nullptr;
  began_ = now();
  const std::int64_t length = began_ - thread_->since;
  thread_->burnt[state_] += cpu_since(*thread_, thread_->cpu_since);
  if (wait_) {
    wait_->book(length, 0);
  } else {
    thread_->spent[state_] += length;
    log(state_, length);
  }
  thread_->state = computing;
  change(census::one(census::running), census::one(census::barriers));
}

Task::~Task() {
  if (!thread_ || !live()) return;
  change(census::one(census::barriers), census::one(census::running));
  thread_->since = now();
  thread_->cpu_since = cpu_of(*thread_);
  thread_->state = state_;
  local.wait = wait_;
  const std::int64_t length = thread_->since - began_;
  if (!wait_ && local.team) local.team->computed(length, local.in_team += length);  // after the body
}

}  // namespace corescale::profiler

using namespace corescale::profiler;

#define GOMP_FORK(name)                                                                                  \
  CORESCALE_EXPORT unsigned long name(void (*body)(void*), void* data, unsigned threads, long a, long b, \
                                      long c, long d, long e) {                                          \
    REAL_FROM(reinterpret_cast<void*>(body), name, GompFork);                                            \
    return gomp(real_##name, body, data, threads, a, b, c, d, e);                                        \
  }

GOMP_FORK(GOMP_parallel)
GOMP_FORK(GOMP_parallel_sections)
GOMP_FORK(GOMP_parallel_reductions)
GOMP_FORK(GOMP_parallel_loop_static)
GOMP_FORK(GOMP_parallel_loop_dynamic)
GOMP_FORK(GOMP_parallel_loop_guided)
GOMP_FORK(GOMP_parallel_loop_runtime)
GOMP_FORK(GOMP_parallel_loop_nonmonotonic_dynamic)
GOMP_FORK(GOMP_parallel_loop_nonmonotonic_guided)
GOMP_FORK(GOMP_parallel_loop_nonmonotonic_runtime)
GOMP_FORK(GOMP_parallel_loop_maybe_nonmonotonic_runtime)

CORESCALE_EXPORT void __kmpc_fork_call(void* place, std::int32_t count, Micro* body, ...) {
  REAL_FROM(place, __kmpc_fork_call, void(void*, std::int32_t, Micro*, ...));
  const void* const runtime = reinterpret_cast<void*>(real___kmpc_fork_call);
  Kmpc team = {team_of(runtime, reinterpret_cast<std::uint64_t>(body), 0), body, count, {}};
  va_list given;
  va_start(given, body);
  for (int i = 0; i < count && i < most_shared; ++i) team.shared[i] = va_arg(given, void*);
  va_end(given);
  if (!real___kmpc_fork_call) {
    std::int32_t first = 0;
    return kmpc_member(&first, &first, &team);
  }
  auto* const member = reinterpret_cast<Micro*>(kmpc_member);
  const auto fork = [&] { return real___kmpc_fork_call(place, 1, member, &team), 0; };
  if (team.master)
    region(team, fork);
  else
    fork();
}
