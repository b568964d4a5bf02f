// SPDX-License-Identifier: Apache-2.0
#include "profiler/calls.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
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

// The first of the numbers for files that stay open. Above 1,024 the kernel's table of files grows, and each fork copies it.
long first_high() {
  rlimit most{};
  if (getrlimit(RLIMIT_NOFILE, &most) != 0) return 0;
  return static_cast<long>(std::min<rlim_t>(most.rlim_cur, 1024) * 3 / 4);
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

void close(int descriptor) { call(SYS_close, descriptor); }

bool allocate(int descriptor, int mode, std::size_t size) {
  return call(SYS_fallocate, descriptor, mode, 0L, size) == 0;
}

void sleep_for(long nanoseconds) {
  const timespec length{0, nanoseconds};
  call(SYS_nanosleep, &length, nullptr);
}

bool Kept::open(const char* path) {
  struct stat found = {};
  if (call(SYS_newfstatat, AT_FDCWD, path, &found, 0) != 0) return false;
  device_ = found.st_dev;
  inode_ = found.st_ino;
  const int low = calls::open(path, O_RDONLY);
  if (low < 0) return false;
  number_ = static_cast<int>(call(SYS_fcntl, low, F_DUPFD_CLOEXEC, first_high()));
  high_ = number_ >= 0;
  if (!high_)
    number_ = low;
  else if (is_own(low))  // the program may have put another file there meanwhile
    calls::close(low);
  if (is_own()) return true;
  if (high_) calls::close(number_);  // a copy of the program's file
  number_ = -1;
  return false;
}

ssize_t Kept::read(void* to, std::size_t size, long from) const {
  return call(SYS_pread64, number_, to, size, from);
}

void Kept::close() {
  if (is_own()) calls::close(number_);
  number_ = -1;
}

bool Kept::is_own(int number) const {
  struct stat found = {};
  return number >= 0 && call(SYS_fstat, number, &found) == 0 && found.st_dev == device_ &&
         found.st_ino == inode_;
}

}  // namespace corescale::profiler::calls
