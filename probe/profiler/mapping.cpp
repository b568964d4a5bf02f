// SPDX-License-Identifier: Apache-2.0
// The profile's file: it is made when a program begins, and finished when it ends.
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

#include "profiler/calls.hpp"
#include "profiler/profiler.hpp"

namespace corescale::profiler {

namespace {

bool whole = false;  // whether all disk space is reserved, because the kernel cannot reserve a part
constexpr std::size_t page = 4096;
std::atomic<bool> has_room[sizeof(File) / page + 1];

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

// Makes the file, sparse, with room for the header.
bool grow(int descriptor) {
  rlimit most{};
  return (getrlimit(RLIMIT_FSIZE, &most) != 0 || most.rlim_cur >= sizeof(File)) &&
         ftruncate(descriptor, sizeof(File)) == 0;
}

bool begin_room(int descriptor, void* place) {
  for (std::atomic<bool>& each : has_room) each.store(false, std::memory_order_relaxed);
  whole = false;
  madvise(place, sizeof(File), MADV_RANDOM);  // no pages around those that are written
  char* const first_thread = static_cast<char*>(place) + offsetof(File, thread);
  if (madvise(place, page, MADV_POPULATE_WRITE) == 0)
    return madvise(first_thread, page, MADV_POPULATE_WRITE) == 0;
  // Linux before 5.14 does not know it.
  whole = errno == EINVAL &&
          (calls::allocate(descriptor, FALLOC_FL_KEEP_SIZE, sizeof(File)) || errno == EOPNOTSUPP);
  return whole;
}

File* mapped(const char* folder) {
  const int descriptor = calls::create(folder, "profile");
  if (descriptor < 0) return nullptr;
  void* place = grow(descriptor)
                    ? mmap(nullptr, sizeof(File), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)
                    : MAP_FAILED;
  if (place != MAP_FAILED && !begin_room(descriptor, place)) {
    munmap(place, sizeof(File));
    place = MAP_FAILED;
    if (ftruncate(descriptor, 0) != 0) place = MAP_FAILED;
  }
  calls::close(descriptor);
  if (place != MAP_FAILED) return static_cast<File*>(place);
  // Shows that there was no room. A program that is killed before it has a profile leaves an empty one, too.
  calls::close(calls::create(folder, "full"));
  return nullptr;
}

std::atomic<std::uint64_t> replaced;  // how often an object was loaded where another one had been
std::atomic_flag reading;
calls::Kept maps;  // only of the thread that has set `reading`

// A range of addresses with code that was looked up. Only the thread that has set `reading` writes these, and only appends, because ticks
// of other threads read them at the same time.
struct Range {
  std::uint64_t begin, end;
};
constexpr std::size_t most_ranges = 4096;
Range range[most_ranges];
std::atomic<std::size_t> ranges;
std::atomic<bool> outdated;  // an object was unloaded

bool is_known(std::uint64_t address) {
  if (outdated) return false;
  const std::size_t count = ranges.load(std::memory_order_acquire);
  for (std::size_t i = count; i-- > 0;)
    if (address >= range[i].begin && address < range[i].end) return true;
  return count == most_ranges;
}

void note_range(std::uint64_t begin, std::uint64_t end) {
  const std::size_t count = ranges.load(std::memory_order_relaxed);
  if (count == most_ranges || is_known(begin)) return;
  range[count] = {begin, end};
  ranges.store(count + 1, std::memory_order_release);
}

// Whether the range at the start of a line overlaps a range in `modules`, where a number comes before each.
bool overlaps(const char* line, const char* modules) {
  char* rest;
  const std::uint64_t begin = strtoull(line, &rest, 16), end = strtoull(rest + 1, nullptr, 16);
  for (; *modules; modules = strchr(modules, '\n') + 1) {
    const std::uint64_t other = strtoull(strchr(modules, ' '), &rest, 16);
    if (begin < strtoull(rest + 1, nullptr, 16) && other < end) return true;
  }
  return false;
}

// Keeps the line of an executable mapping, unless it is kept already and no other object was there meanwhile.
void keep_module(char* line) {
  Header& header = file->header;
  const std::size_t size = strlen(line), full = header.modules_length;
  if (!strstr(line, " r-xp ") || !strchr(line, '/') || full + size + 8 >= module_bytes) return;
  if (!room(file->modules, full + 1)) return;  // reading there also takes room
  const char* later = file->modules;
  bool known = false;
  while (const char* const found = strstr(later, line)) {
    later = found + size;
    known = true;
  }
  const bool replaces = overlaps(line, later);
  if (known && !replaces) return;
  if (!room(file->modules + full, size + 8)) return;
  if (replaces && replaced < 0xffff) ++replaced;
  char digits[8], *digit = digits + sizeof digits;
  *--digit = '\0';
  *--digit = ' ';
  std::uint64_t number = replaced;
  do *--digit = static_cast<char>('0' + number % 10);
  while (number /= 10);
  char* const end = stpcpy(stpcpy(file->modules + full, digit), line);
  header.modules_length = static_cast<std::uint32_t>(end - file->modules);
}

}  // namespace

// Stored, because a program may clear its environment before it forks.
static char own_folder[4096 - 64];
static std::uint32_t processors = 1;
static std::int32_t rank = -1;

static void read_environment() {
  const char* const where = getenv("CORESCALE_PROFILER");
  const char* const asked = getenv("CORESCALE_PROFILER_THREADS");
  if (where && strlen(where) < sizeof own_folder) stpcpy(own_folder, where);
  if (asked && atoi(asked) > 0) processors = static_cast<std::uint32_t>(atoi(asked));
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"})
    if (const char* const number = getenv(name); number && rank < 0) rank = atoi(number);
}

static const File* last_file = nullptr;  // the same as `file`, but a child of a fork still has it

void open_file() {
  File* const made = *own_folder ? mapped(own_folder) : nullptr;
  if (!made) return;
  Header& header = made->header;
  header.version = format;
  header.bytes = sizeof(File);
  header.process = getpid();
  header.parent = getppid();
  header.processors = processors;
  header.rank = rank;
  header.started = header.ended = now();
  header.first_cycle = header.last_cycle = cycles();
  const ssize_t length = readlink("/proc/self/exe", header.executable, sizeof header.executable - 1);
  header.executable[length < 0 ? 0 : length] = '\0';
  header.census = census::zero();
  memcpy(header.signature, magic, sizeof magic);  // last: a process that is killed here has not begun
  last_file = file = made;
  open_timeline(own_folder);
}

bool room(void* at, std::size_t size) {
  if (whole) return true;
  const auto begin = static_cast<std::size_t>(static_cast<char*>(at) - reinterpret_cast<char*>(file));
  for (std::size_t each = begin / page; each <= (begin + size - 1) / page; ++each) {
    if (has_room[each].load(std::memory_order_relaxed)) continue;
    if (madvise(reinterpret_cast<char*>(file) + each * page, page, MADV_POPULATE_WRITE) != 0) {
      file->header.full = 1;
      return false;
    }
    has_room[each].store(true, std::memory_order_relaxed);
  }
  return true;
}

// Does not ask the loader: a tick may come while its thread holds the loader's lock, and a forked child may find the lock held.
void read_modules(std::uint64_t sought) {
  if (reading.test_and_set()) return;
  if (outdated.exchange(false)) ranges = 0;
  if (!maps.is_own()) maps.open("/proc/self/maps");
  // Not on the stack: a tick may come on a program's own signal stack, of 8 KiB in all.
  static char line[1024], text[4096];
  std::size_t length = 0;
  for (long got, at = 0; (got = maps.read(text, sizeof text, at)) > 0; at += got)
    for (long i = 0; i < got; ++i) {
      if (length < sizeof line - 1) line[length++] = text[i];
      if (text[i] != '\n') continue;
      line[length] = '\0';
      length = 0;
      char* rest;
      const std::uint64_t from = strtoull(line, &rest, 16), to = strtoull(rest + 1, &rest, 16);
      if (rest[3] == 'x') note_range(from, to);
      keep_module(line);
    }
  if (!maps.stays()) maps.close();
  constexpr std::uint64_t begin = ~std::uint64_t{page - 1};
  if (sought)
    note_range(sought & begin, (sought & begin) + page);  // in no mapping: it is not looked for again
  reading.clear();
}

void forget_ranges() { outdated = true; }

std::uint64_t placed(std::uint64_t address) {
  if (!is_known(address)) read_modules(address);
  return (address & 0xffffffffffff) | replaced.load(std::memory_order_relaxed) << 48;
}

// In a child, objects have the addresses that they have in its parent.
static void take_over(const File& parent) {
  const std::uint32_t length = parent.header.modules_length;
  if (room(file->modules, length + 1)) {
    memcpy(file->modules, parent.modules, length);
    file->header.modules_length = length;
  }
  begin_main_thread();
}

void begin_child() {
  const File* const parent = last_file;
  const int error = errno;
  if (!parent->header.confined) {
    maps.close();
    for (std::size_t i = 0; i < parent->header.threads && i < most_threads; ++i)
      if (calls::Kept of_parent = parent->thread[i].schedstat; parent->thread[i].id > 0) of_parent.close();
  }
  local = {};
  reading.clear();
  if (!parent->header.confined) open_file();
  if (file) take_over(*parent);
  errno = error;
}

namespace {

__attribute__((constructor)) void begin() {
  const int error = errno;
  note_first_objects();
  resolve_allocation();
  resolve_waits();
  read_environment();
  madvise(&own, sizeof own, MADV_WIPEONFORK);
  open_file();
  if (file) {
    read_modules();
    begin_main_thread();
    pthread_atfork(nullptr, nullptr, begin_child);
  }
  errno = error;
}

__attribute__((destructor)) void end() { finish(); }

}  // namespace
}  // namespace corescale::profiler

namespace prof = corescale::profiler;

CORESCALE_EXPORT __attribute__((noreturn)) void _exit(int code) {
  prof::finish();
  REAL(_exit, void(int));
  real__exit(code);
  __builtin_unreachable();
}

CORESCALE_EXPORT __attribute__((noreturn)) void _Exit(int code) { _exit(code); }

// A fork that calls no handlers in the child.
CORESCALE_EXPORT pid_t _Fork() {
  REAL(_Fork, pid_t());
  const bool profiled = prof::file;
  const pid_t child = real__Fork();
  if (child == 0 && profiled) prof::begin_child();
  return child;
}
