// SPDX-License-Identifier: Apache-2.0
// The signal of ticks is shared with the program. The program sees its own actions for it and gets what others send, but cannot keep it
// from the profiler by blocking it. If a program bypasses these functions, only ticks are lost, because the signal is ignored by default.
#include <signal.h>

#include <cerrno>

#include "profiler/profiler.hpp"

namespace corescale::profiler {
namespace {

using Set = int(int, const struct sigaction*, struct sigaction*);

bool shared = false;
struct sigaction theirs = {};  // the program's action

const sigset_t* without_ticks(const sigset_t* given, sigset_t& copy) {
  if (!shared || !given) return given;
  copy = *given;
  sigdelset(&copy, signal_of_ticks);
  return &copy;
}

int mask(int (*real)(int, const sigset_t*, sigset_t*), int how, const sigset_t* given, sigset_t* before) {
  sigset_t copy;
  return real(how, how == SIG_UNBLOCK ? given : without_ticks(given, copy), before);
}

}  // namespace

void pass_on(int number, siginfo_t* info, void* context) {
  if (theirs.sa_flags & SA_SIGINFO)
    theirs.sa_sigaction(number, info, context);
  else if (theirs.sa_handler != SIG_DFL && theirs.sa_handler != SIG_IGN)
    theirs.sa_handler(number);
}

void share_signal(void (*tick)(int, siginfo_t*, void*)) {
  if (shared) return;
  struct sigaction action = {};
  action.sa_sigaction = tick;
  action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  sigfillset(&action.sa_mask);
  if (next<Set>("sigaction")(signal_of_ticks, &action, &theirs) == 0) shared = true;
}

}  // namespace corescale::profiler

using namespace corescale::profiler;

CORESCALE_EXPORT int sigaction(int number, const struct sigaction* action,
                               struct sigaction* before) noexcept {
  REAL(sigaction, Set);
  if (number != signal_of_ticks || !shared) return real_sigaction(number, action, before);
  const struct sigaction old = theirs;
  if (action) theirs = *action;
  if (before) *before = old;
  return 0;
}

CORESCALE_EXPORT sighandler_t signal(int number, sighandler_t handler) noexcept {
  REAL(signal, sighandler_t(int, sighandler_t));
  if (number != signal_of_ticks || !shared) return real_signal(number, handler);
  const sighandler_t old = theirs.sa_handler;
  theirs = {};
  theirs.sa_handler = handler;
  return old;
}

CORESCALE_EXPORT int pthread_sigmask(int how, const sigset_t* given, sigset_t* before) noexcept {
  REAL(pthread_sigmask, int(int, const sigset_t*, sigset_t*));
  return mask(real_pthread_sigmask, how, given, before);
}

CORESCALE_EXPORT int sigprocmask(int how, const sigset_t* given, sigset_t* before) noexcept {
  REAL(sigprocmask, int(int, const sigset_t*, sigset_t*));
  return mask(real_sigprocmask, how, given, before);
}

CORESCALE_EXPORT int sigwait(const sigset_t* given, int* number) {
  REAL(sigwait, int(const sigset_t*, int*));
  sigset_t copy;
  const Wait wait(blocked);
  return real_sigwait(without_ticks(given, copy), number);
}

CORESCALE_EXPORT int sigwaitinfo(const sigset_t* given, siginfo_t* info) {
  REAL(sigwaitinfo, int(const sigset_t*, siginfo_t*));
  sigset_t copy;
  const Wait wait(blocked);
  return real_sigwaitinfo(without_ticks(given, copy), info);
}

CORESCALE_EXPORT int sigtimedwait(const sigset_t* given, siginfo_t* info, const timespec* until) {
  REAL(sigtimedwait, int(const sigset_t*, siginfo_t*, const timespec*));
  sigset_t copy;
  const Wait wait(blocked);
  return real_sigtimedwait(without_ticks(given, copy), info, until);
}

// If a signal handler leaves a wait by a jump, the wait ends there.
#define JUMP(name)                                                            \
  CORESCALE_EXPORT __attribute__((noreturn)) void name(void* to, int value) { \
    REAL(name, void(void*, int));                                             \
    if (local.wait) local.wait->end();                                        \
    real_##name(to, value);                                                   \
    __builtin_unreachable();                                                  \
  }
JUMP(longjmp)
JUMP(_longjmp)
JUMP(siglongjmp)
JUMP(__longjmp_chk)
