// SPDX-License-Identifier: Apache-2.0
#include "profiler/calls.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

#include "profiler/profiler.hpp"

namespace corescale::profiler::calls {

namespace {

template <class... Words>
long call(long number, Words... words) {
  static auto* const kernel =
      next<long(long, ...)>("syscall");  // the profile is opened before the first tick
  return kernel(number, words...);
}

}  // namespace

int open(const char* path, int flags, mode_t mode) {
  return static_cast<int>(call(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, mode));
}

int create(const char* folder, const char* kind) {
  char path[4096];
  for (int tried = 0; tried < 100'000; ++tried) {
    const int length =
        snprintf(path, sizeof path, "%s/%s-%d-%d", folder, kind, static_cast<int>(getpid()), tried);
    if (length < 0 || static_cast<std::size_t>(length) >= sizeof path) return -1;
    const int made = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (made >= 0 || errno != EEXIST) return made;
  }
  return -1;
}

ssize_t read(int descriptor, void* to, std::size_t size) { return call(SYS_read, descriptor, to, size); }

void close(int descriptor) { call(SYS_close, descriptor); }

bool allocate(int descriptor, int mode, std::size_t size) {
  return call(SYS_fallocate, descriptor, mode, 0L, size) == 0;
}

void sleep_for(long nanoseconds) {
  const timespec length{0, nanoseconds};
  call(SYS_nanosleep, &length, nullptr);
}

}  // namespace corescale::profiler::calls
