// SPDX-License-Identifier: Apache-2.0
// The functions that a C program calls: malloc() and its family. With C++'s operators (operators.cpp) they are all that this library
// exports.
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>

#include "heap.hpp"
#include "mappings.hpp"

#define CORESCALE_ENTRY [[gnu::visibility("default")]]

namespace {

using namespace corescale::process_heap;  // NOLINT

void* none() noexcept {
  errno = ENOMEM;
  return nullptr;
}

void* or_none(void* memory) noexcept { return memory ? memory : none(); }

[[gnu::noinline]] void* take_otherwise(std::size_t bytes) noexcept { return or_none(take(bytes)); }

bool is_power_of_two(std::size_t value) noexcept { return value && !(value & (value - 1)); }

void* aligned(std::size_t alignment, std::size_t bytes) noexcept {
  if (!is_power_of_two(alignment)) return errno = EINVAL, nullptr;
  return or_none(take_aligned(bytes, alignment));
}

using handler = void (*)();

void show_stats() noexcept {
  const span_counts spans = count_spans();
  const mapping_counts mappings = count_mappings();
  const heap_counts heaps = count_heaps();
  char text[600];
  const int length = snprintf(
      text, sizeof text,
      "corescale malloc: %zu MiB mapped now, %zu at most, %zu handed back to the kernel\n"
      "corescale malloc: %zu segments of 4 MiB: %zu KiB in use, %zu KiB free and not handed back\n"
      "corescale malloc: %zu mappings of %zu KiB, %zu KiB kept for reuse; %zu heaps, %zu without a thread\n",
      of_system.mapped.load() >> 20, of_system.most_mapped.load() >> 20, of_system.purged.load() >> 20,
      spans.segments, spans.used_slices * (slice >> 10), spans.dirty_slices * (slice >> 10), mappings.blocks,
      mappings.bytes >> 10, mappings.kept_bytes >> 10, heaps.heaps, heaps.abandoned);
  say(text, length);
}

[[gnu::constructor]] void begin() noexcept {
  read_environment();
  read_memory_limit();
  begin_process();
}

[[gnu::destructor]] void end() noexcept {
  end_process();
  if (chosen.show_stats) show_stats();
}

}  // namespace

extern "C" {

CORESCALE_ENTRY void* malloc(size_t bytes) noexcept {
  void* const memory = take_at_hand(bytes);
  return memory ? memory : take_otherwise(bytes);
}

CORESCALE_ENTRY void free(void* memory) noexcept { give(memory); }
CORESCALE_ENTRY void cfree(void* memory) noexcept { give(memory); }
CORESCALE_ENTRY void free_sized(void* memory, size_t) noexcept { give(memory); }
CORESCALE_ENTRY void free_aligned_sized(void* memory, size_t, size_t) noexcept { give(memory); }

CORESCALE_ENTRY void* calloc(size_t count, size_t size) noexcept {
  size_t bytes = 0;
  return __builtin_mul_overflow(count, size, &bytes) ? none() : or_none(take_zeroed(bytes));
}

CORESCALE_ENTRY void* realloc(void* memory, size_t bytes) noexcept {
  if (!memory) return malloc(bytes);
  if (!bytes) return give(memory), nullptr;  // as glibc
  return or_none(resize(memory, bytes));
}

CORESCALE_ENTRY void* reallocarray(void* memory, size_t count, size_t size) noexcept {
  size_t bytes = 0;
  return __builtin_mul_overflow(count, size, &bytes) ? none() : realloc(memory, bytes);
}

CORESCALE_ENTRY void* aligned_alloc(size_t alignment, size_t bytes) noexcept {
  return aligned(alignment, bytes);
}
/// As in glibc, an alignment that is not a power of two is rounded up to one.
CORESCALE_ENTRY void* memalign(size_t alignment, size_t bytes) noexcept {
  if (alignment > SIZE_MAX / 2 + 1) return errno = EINVAL, nullptr;
  return aligned(std::bit_ceil(alignment), bytes);
}

CORESCALE_ENTRY int posix_memalign(void** memory, size_t alignment, size_t bytes) noexcept {
  if (!is_power_of_two(alignment) || alignment % sizeof(void*)) return EINVAL;
  void* const taken = aligned(alignment, bytes);
  if (!taken) return ENOMEM;  // errno is ENOMEM too, as with glibc
  *memory = taken;
  return 0;
}

CORESCALE_ENTRY void* valloc(size_t bytes) noexcept {
  return aligned(static_cast<size_t>(getpagesize()), bytes);
}

CORESCALE_ENTRY void* pvalloc(size_t bytes) noexcept {
  return valloc(bytes);  // its blocks are whole pages
}

// glibc's other names for these functions, which a few programs use.
// NOLINTBEGIN
CORESCALE_ENTRY void* __libc_malloc(size_t bytes) noexcept { return malloc(bytes); }
CORESCALE_ENTRY void __libc_free(void* memory) noexcept { give(memory); }
CORESCALE_ENTRY void* __libc_calloc(size_t count, size_t size) noexcept { return calloc(count, size); }
CORESCALE_ENTRY void* __libc_realloc(void* memory, size_t bytes) noexcept { return realloc(memory, bytes); }
CORESCALE_ENTRY void* __libc_memalign(size_t alignment, size_t bytes) noexcept {
  return memalign(alignment, bytes);
}
CORESCALE_ENTRY int __posix_memalign(void** memory, size_t alignment, size_t bytes) noexcept {
  return posix_memalign(memory, alignment, bytes);
}
CORESCALE_ENTRY void* __libc_valloc(size_t bytes) noexcept { return valloc(bytes); }
CORESCALE_ENTRY void* __libc_pvalloc(size_t bytes) noexcept { return pvalloc(bytes); }
// NOLINTEND

CORESCALE_ENTRY size_t malloc_usable_size(void* memory) noexcept { return memory ? usable_bytes(memory) : 0; }
CORESCALE_ENTRY int malloc_trim(size_t) noexcept { return trim(); }

CORESCALE_ENTRY struct mallinfo2 mallinfo2() noexcept {
  const span_counts spans = count_spans();
  const mapping_counts mappings = count_mappings();
  struct mallinfo2 info {};
  info.arena = spans.segments * segment_bytes;
  info.hblks = mappings.blocks;
  info.hblkhd = mappings.bytes;
  info.uordblks = spans.used_slices * slice;
  info.fordblks = info.arena - info.uordblks;
  info.keepcost = spans.dirty_slices * slice + mappings.kept_bytes;
  return info;
}

/// The older function, whose numbers end at 2 GiB.
CORESCALE_ENTRY struct mallinfo mallinfo() noexcept {
  const struct mallinfo2 info = mallinfo2();
  const auto least = [](size_t value) { return static_cast<int>(value < INT_MAX ? value : INT_MAX); };
  struct mallinfo small {};
  small.arena = least(info.arena);
  small.hblks = least(info.hblks);
  small.hblkhd = least(info.hblkhd);
  small.uordblks = least(info.uordblks);
  small.fordblks = least(info.fordblks);
  small.keepcost = least(info.keepcost);
  return small;
}

CORESCALE_ENTRY void malloc_stats() noexcept { show_stats(); }

/// pthread_atfork() calls this, so that our handlers are registered before anyone else's. glibc's function is looked up when the process
/// starts: later, dlsym() may wait for a thread that is in dlopen(), and a library's constructor may wait for us.
// NOLINTNEXTLINE
CORESCALE_ENTRY int __register_atfork(handler prepare, handler parent, handler child,
                                      void* library) noexcept {
  watch_forks();
  using registers = int (*)(handler, handler, handler, void*);
  constinit static std::atomic<registers> found{nullptr};
  registers next = found.load(std::memory_order_relaxed);
  if (!next) {
    next = reinterpret_cast<registers>(dlsym(RTLD_NEXT, "__register_atfork"));
    found.store(next, std::memory_order_relaxed);
  }
  if (!next) return ENOMEM;
  enter_registration();
  const int error = next(prepare, parent, child, library);
  leave_registration();
  return error;
}

}  // extern "C"
