// SPDX-License-Identifier: Apache-2.0 (more than 300 lines: all functions of an allocator, and what timing them costs)
// The malloc family. One call in 64 is timed, after a random number of others, because timing all would cost a third of their time. Once a
// thread has made many calls, one call in 512 is timed, which is exact enough.
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <limits>

#include "profiler/blocks.hpp"
#include "profiler/profiler.hpp"

namespace corescale::profiler {
namespace {

constexpr std::int32_t mean_gap = 64, later_gap = 512;
constexpr std::uint32_t many = 2048;  // timed calls: their mean is known to a few percent
constexpr std::size_t large = std::size_t{1}
                              << 17;        // bytes; calls for more are all timed, as they may clear pages
constexpr std::uint64_t longest = 150'000;  // cycles; a sampled call that took longer lost its CPU meanwhile
constexpr int batches = 8, batch = 64;
constexpr int steps = 64;  // of a trial call, so that it is longer than two readings of the clock

void* first_malloc(std::size_t size);
void first_free(void* place);
void* first_calloc(std::size_t count, std::size_t size);
void* first_realloc(void* place, std::size_t size);

// The functions of the next allocator; until that is known, functions that look for it.
struct Reals {
  void* (*malloc)(std::size_t) = first_malloc;
  void (*free)(void*) = first_free;
  void* (*calloc)(std::size_t, std::size_t) = first_calloc;
  void* (*realloc)(void*, std::size_t) = first_realloc;
  int (*posix_memalign)(void**, std::size_t, std::size_t) = nullptr;
  void* (*aligned_alloc)(std::size_t, std::size_t) = nullptr;
  void* (*memalign)(std::size_t, std::size_t) = nullptr;
} next_allocator;

// Memory for the search for the next allocator, and for the loader on behalf of the profiler; never given
// back.
alignas(16) char early[1 << 16];
std::atomic<std::size_t> early_used;
bool resolving = false, resolved = false;
bool has_new = false;  // the next allocator has `new` and `delete`; if not, these call malloc
// Below this size, this file serves `new` of the C++ library directly, instead of through its call of malloc. 0 if `new` is not that one.
std::size_t sizes_of_new = 0;

bool is_early(const void* place) {
  return reinterpret_cast<std::uintptr_t>(place) - reinterpret_cast<std::uintptr_t>(early) < sizeof early;
}

void* early_memory(std::size_t size) {
  const std::size_t place =
      early_used.fetch_add((size + 31) & ~std::size_t{15}, std::memory_order_relaxed) + 16;
  if (place + size > sizeof early) return nullptr;
  memcpy(early + place - sizeof size, &size, sizeof size);
  return early + place;
}

void* first_malloc(std::size_t size) {
  resolve_allocation();
  return resolved ? next_allocator.malloc(size) : early_memory(size);
}
void first_free(void* place) {
  resolve_allocation();
  if (resolved) next_allocator.free(place);
}
void* first_calloc(std::size_t count, std::size_t size) {
  resolve_allocation();
  return resolved ? next_allocator.calloc(count, size) : early_memory(count * size);  // this memory is zero
}
void* first_realloc(void* place, std::size_t size) {
  resolve_allocation();
  return resolved ? next_allocator.realloc(place, size) : place ? nullptr : early_memory(size);
}

// The code of the next allocator's library, and of this one. Asked for once: a tick may not ask the loader.
struct Code {
  std::uint64_t begin, end;
} allocator_code[2];

Code code_of(const void* function) {
  const auto of = [](dl_phdr_info* object, std::size_t, void* given) {
    Code& found = *static_cast<Code*>(given);
    for (int k = 0; k < object->dlpi_phnum; ++k) {
      const auto& part = object->dlpi_phdr[k];
      const std::uint64_t begin = object->dlpi_addr + part.p_vaddr;
      if (part.p_type != PT_LOAD || found.begin - begin >= part.p_memsz) continue;
      found = {begin, begin + part.p_memsz};
      return 1;
    }
    return 0;
  };
  const auto address = reinterpret_cast<std::uint64_t>(function);
  Code found = {address, address};
  dl_iterate_phdr(of, &found);
  return found;
}

// A call of known length: how long it seems with a reading of the clock, and what the reading adds to it. It adds less to a longer call,
// beside which a processor can do much of it.
struct Looked {
  std::int64_t length, added;
} short_call, long_call;
std::uint32_t cycles_of_a_call = 0;  // as in the header; also kept in a child of a fork
std::atomic<std::uint64_t> cycles_in_faults, faults_looked_at;

std::uint64_t cycles_of_a_fault() {
  const std::uint64_t count = faults_looked_at.load(std::memory_order_relaxed);
  return count ? cycles_in_faults.load(std::memory_order_relaxed) / count : 0;
}

// The line between the two known calls, so that no two calls of nearly the same length differ by a whole reading.
std::uint64_t without_look(std::uint64_t measured) {
  const auto length = static_cast<std::int64_t>(measured);
  std::int64_t added = length < long_call.length ? short_call.added : long_call.added;
  if (short_call.length < length && length < long_call.length)
    added += (long_call.added - short_call.added) * (length - short_call.length) /
             (long_call.length - short_call.length);
  return length > added ? static_cast<std::uint64_t>(length - added) : 0;
}

// The least number of cycles that a batch took.
template <class Batch>
std::uint64_t fewest(Batch cycles_of_batch) {
  std::uint64_t found = ~std::uint64_t{0};
  for (int i = 0; i < batches; ++i) found = std::min<std::uint64_t>(found, cycles_of_batch());
  return found;
}

std::uint32_t cycles_more(std::uint64_t with, std::uint64_t without) {
  return with > without ? static_cast<std::uint32_t>((with - without) / (2 * batch)) : 0;
}

// When a thread ends, the rest of its gap between timed calls passes to the next thread that begins. Otherwise threads with few calls
// would never reach the end of a gap.
std::atomic<std::uint64_t> left_over;

std::int32_t next_gap() {
  const std::int32_t mean = local.timed < many ? mean_gap : later_gap;
  return 1 + static_cast<std::int32_t>(next_random() % static_cast<std::uint32_t>(2 * mean - 1));
}

// The result of posix_memalign.
struct Placed {
  int error;
  void* block;
};

const void* block_of(const void* result) { return result; }
const void* block_of(Placed result) { return result.block; }
const void* block_of(int /*error*/) { return nullptr; }

// Makes a call that is timed, or is in a thread without a profile, or comes from another of these functions. `size` is 0 if the call
// frees memory.
template <class Call, class Own>
__attribute__((noinline)) auto rarely(std::size_t size, Call call, Own instead) {
  // Is read first: the stores of earlier calls then end within this call, as they do without the profiler.
  const std::uint64_t began = cycles();
  if (local.own) return local.countdown = 0, instead();
  const bool sampled = local.countdown < 0;
  const bool counts = live() && local.thread;  // not in a child of a fork until its file is there
  if (!counts || local.in_allocator) {
    if (sampled) local.countdown = counts ? 0 : std::numeric_limits<std::int32_t>::max();
    return call();
  }
  Thread& thread = *local.thread;
  const std::int64_t weight = sampled ? local.gap : 1;
  local.in_ticks = 0;  // a tick while the last call was booked is no part of this one
  local.in_allocator = true;
  auto result = call();
  const std::uint64_t passed = cycles() - began;
  std::uint64_t length = without_look(passed - std::min(passed, local.in_ticks));
  if (sampled && length > longest) length = longest;
  thread.allocating += static_cast<std::int64_t>(length) * weight;
  if (const std::uint64_t one = cycles_of_a_fault(); one && length >= one)
    thread.faults_timed += static_cast<std::int64_t>(length / one) * weight;
  (size ? thread.allocations : thread.frees) += weight;
  if (size) count_block(block_of(result), size, weight, next_random());
  if (sampled) {
    ++local.timed;
    local.gap = next_gap();
    local.countdown = local.gap - 1;
  }
  local.in_allocator = false;
  return result;
}

// Whether a call is not timed. If so, only its caller is stored, and the allocator returns directly to the caller, because a program may
// make a hundred million calls in a second.
inline __attribute__((always_inline)) bool passes(std::size_t size, const void* caller) {
  if (__builtin_expect(size >= large || --local.countdown < 0, 0)) return false;
  local.caller = caller;
  return true;
}

template <class Call, class Own>
inline __attribute__((always_inline)) auto counted(std::size_t size, const void* caller, Call call,
                                                   Own instead) {
  return passes(size, caller) ? call() : rarely(size, call, instead);
}

template <class Call>
inline __attribute__((always_inline)) auto counted(std::size_t size, const void* caller, Call call) {
  return counted(size, caller, call, call);
}

inline __attribute__((always_inline)) void give_unwatched_back(void* place, const void* caller) {
  if (passes(0, caller)) return next_allocator.free(place);
  const auto call = [=] { return next_allocator.free(place), 0; };
  rarely(0, call, call);
}

__attribute__((noinline)) void give_watched_back(void* place, const void* caller) {
  end_watch(place);
  give_unwatched_back(place, caller);
}

inline __attribute__((always_inline)) void give_back(void* place, const void* caller) {
  is_watched(place) ? give_watched_back(place, caller) : give_unwatched_back(place, caller);
}

#define CALLER __builtin_return_address(0)

// An allocator of one block, because trying the real one would move the program's memory.
struct Trial {
  Trial* next;
};
Trial trial_block;
Trial* trial_list = &trial_block;
int trial_steps = 0;
std::uint64_t trial_state;  // a step needs the result of the one before, as in an allocator
void take_steps() {
  std::uint64_t state = trial_state;
  for (int k = 0; k < trial_steps; ++k) {
    state = 3 * state + 1;
    __asm__ volatile("" : "+r"(state));
  }
  trial_state = state;
}
void* trial_malloc(std::size_t) {
  take_steps();
  Trial* const taken = trial_list;
  trial_list = taken->next;
  return taken;
}
void trial_free(void* place) {
  take_steps();
  auto* const given = static_cast<Trial*>(place);
  given->next = trial_list;
  trial_list = given;
}

void* (*volatile trial_get)(std::size_t) = trial_malloc;
void (*volatile trial_give)(void*) = trial_free;

// Measures the time that timing adds to a call, and the time that passing through the profiler adds to every call, which the reader books, too.
// They are measured around real calls, because a processor hides much of a read of the counter behind neighbouring instructions.
void calibrate() {
  static bool done = false;
  if (done) return;
  done = true;
  void* (*volatile get)(std::size_t) = trial_get;
  void (*volatile give)(void*) = trial_give;
  const auto in_one = [&] {
    const std::uint64_t began = cycles();
    for (int k = 0; k < batch; ++k) give(get(48));
    return cycles() - began;
  };
  const auto each = [&] {
    std::uint64_t sum = 0;
    for (int k = 0; k < batch; ++k) {
      const std::uint64_t began = cycles();
      void* const block = get(48);
      const std::uint64_t between = cycles();
      give(block);
      sum += cycles() - between + between - began;
    }
    return sum;
  };
  local.countdown = std::numeric_limits<std::int32_t>::max();
  const std::uint64_t direct = fewest(in_one);
  const auto looked = [](std::uint64_t with, std::uint64_t without) {
    return Looked{static_cast<std::int64_t>(with / (2 * batch)), cycles_more(with, without)};
  };
  short_call = looked(fewest(each), direct);
  trial_steps = steps;
  long_call = looked(fewest(each), fewest(in_one));
  trial_steps = 0;
  get = [](std::size_t size) { return counted(size, CALLER, [=] { return trial_get(size); }); };
  give = [](void* place) {
    if (!is_watched(place) && passes(0, CALLER)) trial_give(place);  // always: the countdown is long
  };
  cycles_of_a_call = cycles_more(fewest(in_one), direct);
  for (int i = 0; i < 4; ++i) time_faults();
}

}  // namespace

void resolve_allocation() {
  if (resolved || resolving) return;
  resolving = true;
  next_allocator.malloc = next<void*(std::size_t)>("malloc");
  next_allocator.calloc = next<void*(std::size_t, std::size_t)>("calloc");
  next_allocator.realloc = next<void*(void*, std::size_t)>("realloc");
  next_allocator.posix_memalign = next<int(void**, std::size_t, std::size_t)>("posix_memalign");
  next_allocator.aligned_alloc = next<void*(std::size_t, std::size_t)>("aligned_alloc");
  next_allocator.memalign = next<void*(std::size_t, std::size_t)>("memalign");
  next_allocator.free = next<void(void*)>("free");
  const auto* const new_ = reinterpret_cast<void*>(next<void*(std::size_t)>("_Znwm"));
  const link_map* const owner = new_ ? object_of(new_) : nullptr;
  has_new = owner && owner == object_of(reinterpret_cast<void*>(next_allocator.malloc));
  const link_map* const first = object_of(reinterpret_cast<void*>(::malloc));  // a program may have its own
  const bool is_plain = owner && (strstr(owner->l_name, "/libstdc++.") || strstr(owner->l_name, "/libc++"));
  sizes_of_new = is_plain && first == object_of(reinterpret_cast<void*>(first_malloc)) ? large : 0;
  allocator_code[0] = code_of(reinterpret_cast<const void*>(next_allocator.malloc));
  allocator_code[1] = code_of(reinterpret_cast<const void*>(first_malloc));
  resolved = true;
  resolving = false;
}

bool in_allocator(std::uint64_t address) {
  return std::any_of(allocator_code, allocator_code + 2,
                     [=](const Code& one) { return one.begin <= address && address < one.end; });
}

// Uses pages of this library. A new mapping would move the program's mappings, and block page faults of its other threads.
void time_faults() {
  constexpr std::size_t page = 4096, pages = 8, first = 2;  // the first also make room in the page table
  alignas(page) static volatile char place[pages * page];
  static std::atomic_flag taken;
  if (taken.test_and_set()) return;
  std::uint64_t took = 0;
  const std::int64_t before = faults();
  for (std::size_t k = 0; k < pages; ++k) {
    const std::uint64_t began = cycles();
    place[k * page] = 1;
    if (k >= first) took += std::min(cycles() - began, longest);
  }
  const std::int64_t found = faults() - before;
  local.thread->faults_before += found;
  madvise(const_cast<char*>(place), sizeof place, MADV_DONTNEED);
  if (found >= static_cast<std::int64_t>(pages)) {  // fewer if the program locks all its pages in memory
    cycles_in_faults += took;
    faults_looked_at += pages - first;
    file->header.cycles_of_a_fault = static_cast<std::uint32_t>(cycles_of_a_fault());
  }
  taken.clear();
}

void begin_allocation() {
  calibrate();
  file->header.cycles_of_a_call = cycles_of_a_call;
  file->header.cycles_of_a_fault = static_cast<std::uint32_t>(cycles_of_a_fault());
  local.random = static_cast<std::uint32_t>(local.thread->id * 2654435761U) | 1;
  const std::uint64_t left = left_over.exchange(0);
  local.gap = left ? static_cast<std::int32_t>(left >> 32) : next_gap();
  local.countdown = left ? static_cast<std::int32_t>(left) : local.gap - 1;
}

void end_allocation() {
  if (local.countdown >= 0)
    left_over = static_cast<std::uint64_t>(local.gap) << 32 | static_cast<std::uint32_t>(local.countdown);
}

}  // namespace corescale::profiler

using namespace corescale::profiler;

CORESCALE_EXPORT void* malloc(std::size_t size) noexcept {
  return counted(
      size, CALLER, [=] { return next_allocator.malloc(size); },
      [=] {
        void* const place = early_memory(size);
        return place ? place : next_allocator.malloc(size);
      });
}

CORESCALE_EXPORT void free(void* place) noexcept {
  if (__builtin_expect(!is_early(place), 1) && place) give_back(place, CALLER);
}

CORESCALE_EXPORT void* calloc(std::size_t count, std::size_t size) noexcept {
  return counted(
      count * size, CALLER, [=] { return next_allocator.calloc(count, size); },
      [=] {
        void* const place = count && size > sizeof early / count ? nullptr : early_memory(count * size);
        return place ? place : next_allocator.calloc(count, size);
      });
}

CORESCALE_EXPORT void* realloc(void* place, std::size_t size) noexcept {
  if (__builtin_expect(is_early(place), 0)) {
    std::size_t before;
    memcpy(&before, static_cast<char*>(place) - sizeof before, sizeof before);
    void* const moved = next_allocator.malloc(size);
    return moved ? memcpy(moved, place, before < size ? before : size) : nullptr;
  }
  const auto call = [=] { return next_allocator.realloc(place, size); };
  if (!is_watched(place) || !hold_watch(place)) return counted(size, CALLER, call);
  void* const block = counted(size, CALLER, call);
  settle_watch(place, block ? block != place : size == 0);
  return block;
}

CORESCALE_EXPORT int posix_memalign(void** place, std::size_t alignment, std::size_t size) noexcept {
  resolve_allocation();
  const auto call = [=] {
    const int error = next_allocator.posix_memalign(place, alignment, size);
    return Placed{error, error ? nullptr : *place};
  };
  return counted(size, CALLER, call).error;
}

CORESCALE_EXPORT void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  resolve_allocation();
  return counted(size, CALLER, [=] { return next_allocator.aligned_alloc(alignment, size); });
}

CORESCALE_EXPORT void* memalign(std::size_t alignment, std::size_t size) noexcept {
  resolve_allocation();
  return counted(size, CALLER, [=] { return next_allocator.memalign(alignment, size); });
}

// Allocators define these next to malloc, and do not call malloc in them. If malloc fails, the C++ library's own are called, which throw.
// None of their blocks is early memory, which only the loader gets. `new` is on the stack while it calls malloc, so its caller is not
// stored.
#define NEW(name)                                                                                \
  static __attribute__((noinline)) void* new_by_##name(std::size_t size, const void* from) {     \
    REAL_FROM(from, name, void*(std::size_t));                                                   \
    return has_new ? counted(size, from, [=] { return real_##name(size); }) : real_##name(size); \
  }                                                                                              \
  CORESCALE_EXPORT void* name(std::size_t size) {                                                \
    const auto call = [=] { return next_allocator.malloc(size); };                               \
    void* place = nullptr;                                                                       \
    if (__builtin_expect(size < sizes_of_new && --local.countdown >= 0, 1))                      \
      place = call();                                                                            \
    else if (sizes_of_new)                                                                       \
      place = rarely(size, call, call);                                                          \
    return __builtin_expect(place != nullptr, 1) ? place : new_by_##name(size, CALLER);          \
  }
NEW(_Znwm)
NEW(_Znam)
#undef NEW

bool corescale::profiler::is_new(std::uint64_t function) {
  return function == reinterpret_cast<std::uint64_t>(_Znwm) ||
         function == reinterpret_cast<std::uint64_t>(_Znam);
}

#define UNPACK(...) __VA_ARGS__
#define DELETE(name, parameters, given)                                                         \
  static __attribute__((noinline)) void delete_by_##name(const void* from, UNPACK parameters) { \
    REAL_FROM(from, name, void parameters);                                                     \
    if (!has_new) return real_##name given;                                                     \
    if (is_watched(place)) end_watch(place);                                                    \
    counted(0, from, [=] { return real_##name given, 0; });                                     \
  }                                                                                             \
  CORESCALE_EXPORT void name parameters noexcept {                                              \
    sizes_of_new ? give_back(place, CALLER) : delete_by_##name(CALLER, UNPACK given);           \
  }
DELETE(_ZdlPv, (void* place), (place))
DELETE(_ZdaPv, (void* place), (place))
DELETE(_ZdlPvm, (void* place, std::size_t size), (place, size))
DELETE(_ZdaPvm, (void* place, std::size_t size), (place, size))
#undef DELETE
#undef UNPACK
#undef CALLER
