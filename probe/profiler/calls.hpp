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
ssize_t read(int descriptor, void* to, std::size_t size);
void close(int descriptor);
bool allocate(int descriptor, int mode, std::size_t size);
void sleep_for(long nanoseconds);

}  // namespace corescale::profiler::calls
