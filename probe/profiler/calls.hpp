// SPDX-License-Identifier: Apache-2.0
// The profiler's own system calls. The C library's functions of these names are cancellation points: a thread that the program has asked to
// cancel would end in the profiler, where the program has no such point, or would wait there for ever, because ticks block the signal.
// They set errno, as those do.
#pragma once
#include <sys/types.h>

#include <cstddef>

namespace corescale::profiler::calls {

int open(const char* path, int flags, mode_t mode = 0);  // closed by exec
// A new file KIND-PROCESS-NUMBER: a process may execute several programs. -1 if none can be made.
int create(const char* folder, const char* kind);
void close(int descriptor);
bool allocate(int descriptor, int mode, std::size_t size);
void sleep_for(long nanoseconds);

// A file of /proc that is kept open for reading, because opening takes the lowest free number, which the program may be about to use. So
// the number is one that programs hardly reach.
class Kept {
 public:
  bool open(const char* path);
  // Whether it is open. The program may have closed it, or put a file of its own in its place.
  bool is_own() const { return is_own(number_); }
  // Never waits, and takes nothing from a pipe or a socket.
  ssize_t read(void* to, std::size_t size, long from) const;
  void close();
  // Whether it may stay open. If not, no high number was free.
  bool stays() const { return high_; }

 private:
  bool is_own(int number) const;

  int number_ = -1;
  bool high_ = false;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace corescale::profiler::calls
