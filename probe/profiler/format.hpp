// SPDX-License-Identifier: Apache-2.0
// The file that the profiler writes and src/corescale/observe/profiler.py reads. Each program that a process executes has its own. It is
// mapped shared, so that nothing written is lost if the program is killed.
//
// Times are nanoseconds of CLOCK_MONOTONIC. The file is sparse: an area takes only the space of what was written to it.
#pragma once
#include <cstddef>
#include <cstdint>

#include "profiler/calls.hpp"

namespace corescale::profiler {

inline constexpr char magic[8] = {'c', 'o', 'r', 'e', 'p', 'r', 'o', 'f'};
inline constexpr std::uint32_t format = 8;

// What a thread does. It is in one state at a time, under which its CPU ticks and stacks are booked.
enum State : std::uint32_t {
  computing,
  allocating,  // inside the malloc family
  locking,     // waits for a mutex, a read-write lock, a critical section
  barrier,     // waits at a barrier, or at the end of a parallel region
  joining,     // waits for a thread or a child to end
  blocked,     // waits for time or a descriptor, or for an event from another thread while no thread computes
  message,     // in a call of MPI
  spinning,    // in a spin lock, or yields again and again
  pooled,      // a worker of a runtime without work
  event,       // waits for an event from another thread (condition, semaphore or futex) while one computes
  serial,      // only in stacks: computing while other threads of the launch had nothing to do
  alone,       // only in stacks: computing as the only thread
  states
};

// The parts of the launch's thread-seconds. At every moment there are `processors` slots, which go to computing threads first, and then
// to waiting ones, in this order. Slots that are left are absent. `excess` is the time of computing threads beyond the slots.
enum Share : std::uint32_t {
  active,
  lock_wait,
  message_wait,
  barrier_wait,
  block_wait,
  join_wait,
  absent,
  excess,
  shares
};

// Whether the program or a runtime started a thread. A thread of OpenMP computes only in regions.
enum Pool : std::uint32_t { no_pool, openmp_pool, task_pool };

// The most threads that live at once, because the counts of the census hold no more.
inline constexpr std::size_t most_threads = 15000, most_stacks = 16384, most_regions = 1024,
                             most_messages = 4096;
inline constexpr std::size_t deepest = 30;
inline constexpr std::size_t most_sizes = 40;        // powers of two
inline constexpr std::size_t most_buckets = 360000;  // an hour
inline constexpr std::int64_t bucket = 10'000'000;
inline constexpr std::size_t module_bytes = std::size_t{1} << 18;

struct Thread {
  std::int32_t id;
  std::uint32_t state;
  std::uint32_t pool;
  std::uint32_t others;         // threads that had this place before; sums include theirs
  std::int64_t started, ended;  // ended is 0 while it lives
  std::int64_t since;           // when its state began
  std::int64_t cpu, queued;     // time on a CPU, and time ready but waiting for one, at the last look
  std::int64_t spent[states];   // wall time in each state, except computing and allocating
  std::int64_t burnt[states];   // CPU time in each state, with the same exceptions
  std::int64_t calls[states];
  std::int64_t share[shares];  // what it booked of the launch's shares; only sums over threads have a meaning
  std::int64_t allocations, frees, allocating;  // estimated from one call in 64; allocating is cycles
  std::int64_t ticks;
  std::uint64_t start;          // the function that the thread runs
  std::int64_t lately[states];  // a mean of the lengths of its last waits, as far as they count
  std::int64_t cpu_since, ticked, last_yield;
  std::uint64_t argument;
  std::int64_t cpu_before, queued_before;  // its clocks when it began, less those of earlier threads here
  std::int64_t timer;                      // the timer of its ticks; -1: none
  std::int64_t faults, faults_before;      // first touches of pages at the last look, and when it began
  std::int64_t faults_timed;               // at most this many of them are in `allocating` already
  std::int64_t place;  // 1 + the index of the Stack of the wait that it is in; 0: unknown, or in none
  calls::Kept schedstat;
};

struct Stack {
  std::uint64_t key;  // 0: free
  std::uint64_t depth;
  std::int64_t weight[states];   // nanoseconds
  std::uint64_t frame[deepest];  // upper 16 bits: how often another object was loaded in the same place
};

// One parallel region of OpenMP, by its outlined function.
struct Region {
  std::uint64_t function;       // 0: free
  std::int64_t calls, threads;  // threads: summed over calls
  std::int64_t wall, body;      // wall: of the calling thread; body: summed over threads
  std::int64_t longest;         // the longest body of each call, summed
  std::int64_t capacity;        // wall x threads, summed
  std::int64_t inside;          // waits in the body for barriers, and for regions within; summed over threads
};

// Exchanged as a whole. NOLINTNEXTLINE(modernize-use-using): only a typedef may be an extension
__extension__ typedef unsigned __int128 Word;

// Calls of one function of MPI with one partner.
struct Messages {
  std::uint64_t key;  // 0: free
  std::int64_t
      partner;  // its rank in the call's communicator: to whom or from whom, or the root; see mpi.cpp
  std::int64_t calls, spent;
  char call[32];
};

// Blocks of the malloc family whose size is up to a power of two and above the one before.
struct BlocksOfSize {
  std::int64_t calls;    // calls that allocated one; estimated, as a thread's are
  std::int64_t watched;  // blocks that were followed until a thread freed them
  std::int64_t freed,
      elsewhere;  // of these: all that were freed, and those freed by a thread that had not allocated them
};

struct Header {
  char signature[8];
  std::uint32_t version, bytes;  // bytes: of the file
  std::int32_t process, parent;
  std::uint32_t processors;
  std::uint32_t threads;        // places taken
  std::int64_t started, ended;  // ended: time of the last write
  std::int64_t finished;        // when the program ended in order; 0 for one that was killed
  std::uint32_t lost_stacks, lost_timers;
  std::uint32_t modules_length, lost_threads;
  std::uint64_t first_cycle, last_cycle;  // at `started` and `ended`
  std::uint32_t cycles_of_a_call;         // what the profiler adds to each call of the malloc family
  std::uint32_t is_rank;                  // it has called MPI
  std::uint32_t confined;                 // the profile ended because the program forbade itself system calls
  std::uint32_t full;                     // something is missing because the disk was full
  std::int32_t rank;                      // the rank's number, from its launcher; -1: unknown
  std::uint32_t cycles_of_a_fault;        // what the first touch of a page costs
  char executable[512];
  std::int64_t still;  // how long no thread computed
  std::int32_t idle;   // threads that wait for an event
  std::uint32_t
      unqueued;  // some thread's `queued` is too small, because no file of the kernel could be opened to read it
  alignas(64) Word census;  // see census.hpp
  std::int64_t alone;       // how long only one thread computed or had no core; in the cache line of census
  std::uint32_t unticked;   // threads that used many periods of CPU time until their end without a tick
  alignas(64) BlocksOfSize size[most_sizes];  // index: the exponent
};
static_assert(sizeof(Header) <= 4096);  // one page, for which there is room

struct File {
  Header header;
  alignas(4096) char modules[module_bytes];  // lines of /proc/self/maps, each after its number
  alignas(4096) Region region[most_regions];
  alignas(4096) Messages messages[most_messages];
  alignas(4096) std::int64_t busy[most_buckets];  // CPU nanoseconds in each 10 ms from the start
  alignas(4096) Stack stack[most_stacks];
  alignas(4096) Thread thread[most_threads];
};

inline constexpr std::uint32_t timeline_format = 1;
inline constexpr std::uint64_t most_events = 65536;

// A thread was in a state for `length` in all, until `time`.
struct Event {
  std::int64_t time, length;
  std::int32_t thread;
  std::uint32_t state;
  std::uint64_t place;  // the key of a Stack; 0: unknown
};

// The file of events next to the profile.
struct Timeline {
  std::int32_t process;
  std::uint32_t version;
  std::int64_t started;  // the same time as in the profile
  std::uint64_t count;   // of events; those beyond most_events are not stored
  std::uint64_t reserved;
  Event event[most_events];
};

}  // namespace corescale::profiler
