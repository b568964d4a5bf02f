// SPDX-License-Identifier: Apache-2.0
// Descriptors that the program must not inherit.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <memory>

#include "text/cpu_list.hpp"

namespace corescale::probe {

/// Marks every open descriptor by itself, for kernels before 5.11, which cannot mark a range. False if /proc
/// does not list them.
inline bool mark_listed_close_on_exec(int first) {
  const std::unique_ptr<DIR, int (*)(DIR*)> open_files(opendir("/proc/self/fd"),
                                                       [](DIR* d) { return closedir(d); });
  while (const dirent* entry = open_files ? readdir(open_files.get()) : nullptr)
    if (const auto file = parse_number<int>(entry->d_name); file && *file >= first)
      fcntl(*file, F_SETFD, FD_CLOEXEC);
  return open_files != nullptr;
}

/// Marks every open descriptor from `first` on, so that it is closed when a program is executed.
inline void mark_close_on_exec(int first) {
#ifdef CLOSE_RANGE_CLOEXEC
  if (close_range(static_cast<unsigned>(first), ~0U, CLOSE_RANGE_CLOEXEC) == 0) return;
#endif
  if (mark_listed_close_on_exec(first)) return;
  for (int file = first; file < static_cast<int>(sysconf(_SC_OPEN_MAX)); ++file)
    fcntl(file, F_SETFD, FD_CLOEXEC);
}

}  // namespace corescale::probe
