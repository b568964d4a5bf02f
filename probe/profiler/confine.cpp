// SPDX-License-Identifier: Apache-2.0
// Programs that forbid themselves system calls (seccomp).
#include <link.h>
#include <stdarg.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "profiler/calls.hpp"
#include "profiler/profiler.hpp"

namespace corescale::profiler {
namespace {

// What the process executes later is not profiled. Nothing is allocated, because a forked child may find the allocator's lock held.
void leave_environment() {
  const link_map* const library = object_of(reinterpret_cast<const void*>(leave_environment));
  for (char** each = environ; library && each && *each; ++each) {
    if (strncmp(*each, "LD_PRELOAD=", 11) != 0) continue;
    char* const found = strstr(*each, library->l_name);
    if (!found) continue;
    const char* rest = found + strlen(library->l_name);
    if (*rest == ':') ++rest;
    memmove(found, rest, strlen(rest) + 1);
    if ((*each)[11]) continue;
    for (char** moved = each; (*moved = moved[1]); ++moved) {
    }
    --each;
  }
}

}  // namespace

void confine() {
  if (file && file->header.process != getpid()) return;
  leave_environment();
  if (!live()) return;
  for (std::size_t i = 0; i < file->header.threads && i < most_threads; ++i)
    if (Thread& thread = file->thread[i]; room(&thread, sizeof thread) && thread.id > 0 && !thread.ended)
      stop_ticks(thread);
  file->header.confined = 1;
  finish();
  for (int waited = 0; ticking && waited < 1000; ++waited)
    calls::sleep_for(10'000);  // ticks make calls of the system
}

}  // namespace corescale::profiler

namespace prof = corescale::profiler;

// Programs install seccomp filters, which may kill them for a system call, by this function or by syscall().
CORESCALE_EXPORT int prctl(int option, ...) noexcept {
  REAL(prctl, int(int, long, long, long, long));
  va_list given;
  va_start(given, option);
  long word[4];
  for (long& each : word) each = va_arg(given, long);
  va_end(given);
  if (option == PR_SET_SECCOMP && (word[0] == 1 || word[1])) prof::confine();  // not if it only asks
  return real_prctl(option, word[0], word[1], word[2], word[3]);
}
