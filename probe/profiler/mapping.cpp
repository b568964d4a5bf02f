// SPDX-License-Identifier: Apache-2.0
// The file, and its beginning and end in the life of a program.
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>

#include "profiler/profiler.hpp"

namespace corescale::profiler {

namespace {

int descriptor_of(const char* folder) {
  char path[4096];
  if (strlen(folder) + 64 > sizeof path) return -1;
  for (int tried = 0; tried < 100000; ++tried) {  // a process may execute several programs
    char digits[40], *end = digits + sizeof digits;
    *--end = '\0';
    for (int number : {tried, static_cast<int>(getpid())}) {
      do *--end = static_cast<char>('0' + number % 10);
      while (number /= 10);
      *--end = '-';
    }
    stpcpy(stpcpy(stpcpy(path, folder), "/profile"), end);
    const int found = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (found >= 0 || errno != EEXIST) return found;
  }
  return -1;
}

// To write to a file that cannot grow kills the program, so it grows at once, or is left empty: the sign of no room.
bool grow(int descriptor) {
  rlimit most{};
  if (getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur < sizeof(File)) return false;
  return (fallocate(descriptor, FALLOC_FL_KEEP_SIZE, 0, sizeof(File)) == 0 || errno == EOPNOTSUPP) &&
         ftruncate(descriptor, sizeof(File)) == 0;
}

File* mapped(const char* folder) {
  const int descriptor = descriptor_of(folder);
  if (descriptor < 0) return nullptr;
  void* const place = grow(descriptor)
                          ? mmap(nullptr, sizeof(File), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)
                          : MAP_FAILED;
  close(descriptor);
  return place == MAP_FAILED ? nullptr : static_cast<File*>(place);
}

}  // namespace

void open_file() {
  const char* const folder = getenv("CORESCALE_PROFILER");
  if (!folder || !*folder) return;
  File* const made = mapped(folder);
  if (!made) return;
  Header& header = made->header;
  header.version = format;
  header.bytes = sizeof(File);
  header.process = getpid();
  header.parent = getppid();
  const char* const asked = getenv("CORESCALE_PROFILER_THREADS");
  const int processors = asked ? atoi(asked) : 0;
  header.processors = processors > 0 ? static_cast<std::uint32_t>(processors) : 1;
  header.started = header.ended = now();
  header.first_cycle = header.last_cycle = cycles();
  const ssize_t length = readlink("/proc/self/exe", header.executable, sizeof header.executable - 1);
  header.executable[length < 0 ? 0 : length] = '\0';
  header.census = census::zero();
  memcpy(header.signature, magic, sizeof magic);  // last: a process that is killed here has not begun
  file = made;
  read_modules();
}

// The lines of executable mappings that are not there yet.
void read_modules() {
  const int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (maps < 0) return;
  static std::atomic_flag reading;
  // Not on the stack: a tick may come on a program's own signal stack, of 8 KiB in all.
  static char line[1024], text[4096];
  std::size_t length = 0;
  if (!reading.test_and_set()) {
    for (ssize_t got; (got = read(maps, text, sizeof text)) > 0;)
      for (ssize_t i = 0; i < got; ++i) {
        if (length < sizeof line - 1) line[length++] = text[i];
        if (text[i] != '\n') continue;
        line[length] = '\0';
        length = 0;
        const std::size_t size = strlen(line), full = file->header.modules_length;
        if (!strstr(line, " r-xp ") || !strchr(line, '/') || full + size >= module_bytes) continue;
        if (strstr(file->modules, line)) continue;
        memcpy(file->modules + full, line, size);
        file->header.modules_length = static_cast<std::uint32_t>(full + size);
      }
    reading.clear();
  }
  close(maps);
}

namespace {

void begin_child() {
  local = {};
  file = nullptr;
  open_file();
  if (file) begin_main_thread();
}

__attribute__((constructor)) void begin() {
  const int error = errno;
  note_first_objects();
  resolve_allocation();
  resolve_waits();
  open_file();
  if (file) {
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
