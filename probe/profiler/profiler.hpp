// SPDX-License-Identifier: Apache-2.0
// Declarations that the parts of the profiler share. The profiler is preloaded before all other libraries. For each function that it
// replaces, it calls that of the next library, and leaves errno as that function left it.
//
// Nothing here allocates, throws or locks; all of it may run in a signal handler.
#pragma once
#include <dlfcn.h>
#include <signal.h>
#include <time.h>

#include <atomic>
#include <cstdint>

#include "profiler/calls.hpp"
#include "profiler/census.hpp"
#include "profiler/format.hpp"
#include "profiler/next.hpp"

#define CORESCALE_EXPORT extern "C" __attribute__((visibility("default")))

namespace corescale::profiler {

// The profiler's state of the calling thread. The program's own thread-local storage is not touched.
struct Local {
  Thread* thread;
  std::int32_t countdown;  // allocations until one is timed
  std::int32_t gap;
  std::uint32_t random;
  std::uint32_t timed;     // number of timed allocations
  const void* caller;      // return address of its last untimed call of the allocator
  std::uint64_t in_ticks;  // cycles of the ticks in a timed allocation, which are not the program's
  bool in_allocator;       // whether it is in a timed allocation
  bool own;                // whether its allocations are the profiler's: see OwnMemory
  bool spinning;
  struct Wait* wait;    // the wait that the thread is in
  const void* runtime;  // a function of the runtime that its parallel region runs on; null outside of regions
  struct Team* team;    // the team of its last parallel region
  std::int64_t in_team;  // how long it has computed for that region
  bool late;             // its queue time is not read before its end, because the file does not stay open
};
inline constinit thread_local Local local __attribute__((tls_model("initial-exec"))) = {};

// The kernel clears this page in a child of any kind of fork.
struct alignas(4096) Own {
  File* file;
};
inline constinit Own own = {};
inline constinit File*& file =
    own.file;  // null if there is nothing to write to; then every function only calls the next one

// Whether to continue writing. After the end, the profiler asks the system for nothing.
inline bool live() { return file && !file->header.finished; }

inline std::int64_t now(clockid_t clock = CLOCK_MONOTONIC) {
  timespec time{};
  if (clock_gettime(clock, &time) != 0) return 0;  // the thread has ended
  return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec;
}
inline std::int64_t cpu_now() { return now(CLOCK_THREAD_CPUTIME_ID); }
// The same, but also stored, so that in the file of a killed program a thread's CPU time is never older than its waits.
inline std::int64_t cpu_of(Thread& thread) {
  const std::int64_t cpu = cpu_now(), used = cpu - thread.cpu_before;
  if (used > thread.cpu) thread.cpu = used;
  return cpu;
}
inline std::int64_t cpu_since(Thread& thread, std::int64_t before) {
  const std::int64_t cpu = live() ? cpu_of(thread) : before;
  return cpu > before ? cpu - before : 0;
}

#if defined(__x86_64__)
// Has no fence: loads and stores that are in flight at the end of a call end in the next call, as they would without the profiler.
inline std::uint64_t cycles() {
  std::uint32_t low, high;
  __asm__ volatile("rdtsc" : "=a"(low), "=d"(high)::"memory");
  return (static_cast<std::uint64_t>(high) << 32) | low;
}
#elif defined(__aarch64__)
inline std::uint64_t cycles() {
  std::uint64_t value;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
  return value;
}
#else
inline std::uint64_t cycles() { return static_cast<std::uint64_t>(now()); }
#endif

template <class Number, class Amount>
void add(Number& to, Amount what) {
  __atomic_fetch_add(&to, static_cast<Number>(what), __ATOMIC_RELAXED);
}

inline std::uint32_t next_random() {
  local.random ^= local.random << 13;
  local.random ^= local.random >> 17;
  local.random ^= local.random << 5;
  return local.random;
}

// Memory that the loader allocates for the profiler comes from the profiler itself. So the program's data are where they would be without
// the profiler, and the same data share cache lines.
struct OwnMemory {
  OwnMemory() {
    local.countdown = 0;
    local.own = true;
  }
  ~OwnMemory() {
    local.countdown = before;
    local.own = outer;
  }
  OwnMemory(const OwnMemory&) = delete;
  OwnMemory& operator=(const OwnMemory&) = delete;

 private:
  const std::int32_t before = local.countdown;
  const bool outer = local.own;
};

// The next library's function of this name, for functions that all objects have from the same library, the C library.
template <class Function>
Function* next(const char* name, const char* version = nullptr) {
  const OwnMemory memory;
  void* found = version ? dlvsym(RTLD_NEXT, name, version) : nullptr;
  return reinterpret_cast<Function*>(found ? found : dlsym(RTLD_NEXT, name));
}

// Changes the counts by `to - from`, and books the time until now.
void change(Word to, Word from);

// mapping.cpp
void open_file();
void read_modules(std::uint64_t sought = 0);  // records at which addresses the program's objects are
void forget_ranges();                         // other objects may be loaded at the same addresses
bool room(void* place, std::size_t size);     // whether it can be written: a full disk kills the writer
std::uint64_t placed(std::uint64_t address);  // a frame at this address, as of now
void begin_child();

// timeline.cpp
void open_timeline(const char* folder);
void begin_timeline();
void log(State state, std::int64_t length,
         const Stack* place = nullptr);  // an event of the calling thread that ends now

// threads.cpp
void begin_main_thread();
void end_thread();
std::int64_t faults();  // page faults of the calling thread
void look(Thread& thread,
          bool last = false);  // its CPU and queue time, as of now; only of the calling thread
void finish();

// confine.cpp
void confine();  // finishes before the program forbids itself calls of the system

// signals.cpp
// The C library's SIGCANCEL. It sets an action only in pthread_cancel, and that of its other signal, SIGSETXID, at the first thread that
// any of its functions starts. A program may use or wait for any other signal, even SIGURG, which is ignored by default.
inline constexpr int signal_of_ticks = __SIGRTMIN;
using Handler = void(int, siginfo_t*, void*);
void take_signal();
void pass_on(int number, siginfo_t* info, void* context);

// stacks.cpp
inline std::atomic<int> ticking;  // threads that are in a tick
void tick(int number, siginfo_t* info, void* context);
void start_ticks();
void stop_ticks(Thread& thread);
void miss_ticks(const Thread& thread);              // at the end of a thread or of the program
void book_busy(Thread& thread, std::int64_t time);  // its CPU time since it was last booked
// The stack of a handler's `context`, or of the function that has a variable at `outside`.
Stack* here(void* context, bool* allocates, const void* outside = nullptr);
inline void weigh(Stack* stack, State state, std::int64_t length) {
  if (stack) add(stack->weight[state], length);
}

// allocation.cpp
void resolve_allocation();
void begin_allocation();
// Measures the kernel's current cost of the first touch of a page, while the program's other threads run.
void time_faults();
void end_allocation();
// Whether `address` is in the code of the next allocator's library or of the profiler, and whether it is the profiler's `new`, which
// calls the allocator.
bool in_allocator(std::uint64_t address);
bool is_new(std::uint64_t function);

// waits.cpp
void resolve_waits();

// wait.cpp
Word counted(State state);  // the count to which a thread in this state belongs
void turn(State to, State from);
struct Wait {
  explicit Wait(State state);
  ~Wait();
  Wait(const Wait&) = delete;
  Wait& operator=(const Wait&) = delete;
  void end();
  // Books a part of it that has ended. In `still` of it no thread computed.
  void book(std::int64_t length, std::int64_t still);

 private:
  State state_;
  Stack* stack_ = nullptr;
  std::int64_t shortest_ = 0;  // a longer wait counts for its place; random
  std::int64_t still_ = 0;
  std::int64_t outer_ = 0;  // the thread's place before it
};

// openmp.cpp
// A task that a thread runs while it waits at a barrier or at the end of a region. Meanwhile the thread counts as computing.
class Task {
 public:
  Task();
  ~Task();
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

 private:
  Thread* thread_;
  State state_ = computing;
  Wait* wait_ = nullptr;
  std::int64_t began_ = 0;
};

// pools.cpp
std::uint32_t runtime_of(const void* function);  // the Pool of a thread that begins with this function
bool of_tasks(const void* code);  // whether it is in a runtime of tasks that has started threads

}  // namespace corescale::profiler
