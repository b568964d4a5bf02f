// SPDX-License-Identifier: Apache-2.0
// Ticks use a signal that the C library keeps for itself, so no program handles, blocks or awaits it. What the C library sends is passed on
// to it. Waits for other signals are booked here.
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include <cstddef>

#include "profiler/profiler.hpp"

namespace corescale::profiler {
namespace {

// As the kernel takes it: the C library does not set the action of a signal of its own.
struct Action {
  Handler* handler;
  unsigned long flags;
  void (*restorer)();
  std::uint64_t mask;
};
constexpr std::uint64_t every_signal = ~std::uint64_t{0};

#if defined(__x86_64__)
// Where a handler returns to. An unwinder knows the frame of a signal by these instructions, if no table describes them.
extern "C" __attribute__((visibility("hidden"))) void corescale_end_of_tick();
__asm__(
    ".pushsection .text\n\tnop\n"
    "corescale_end_of_tick:\n\tmovq $15, %rax\n\tsyscall\n\t"
    ".popsection\n");
constexpr unsigned long has_restorer = 0x04000000;
constexpr void (*restorer)() = corescale_end_of_tick;
#else
constexpr unsigned long has_restorer = 0;  // the kernel has its own
constexpr void (*restorer)() = nullptr;
#endif

std::atomic<Handler*> of_c_library;

void ask(long call, long which, const void* wanted, void* found) {
  static auto* const real = next<long(long, long, const void*, void*, std::size_t)>("syscall");
  real(call, which, wanted, found, sizeof every_signal);
}

bool is_handler(const Action& action) { return action.handler && action.flags & SA_SIGINFO; }

}  // namespace

void pass_on(int number, siginfo_t* info, void* context) {
  if (Handler* const handler = of_c_library) handler(number, info, context);
}

// For each thread, because older C libraries set their own action when a program makes its first thread.
void take_signal() {
  Action now = {};
  ask(SYS_rt_sigaction, signal_of_ticks, nullptr, &now);
  if (now.handler != tick) {
    if (is_handler(now)) of_c_library = now.handler;
    const Action ours = {tick, SA_SIGINFO | SA_RESTART | SA_ONSTACK | has_restorer, restorer, every_signal};
    ask(SYS_rt_sigaction, signal_of_ticks, &ours, nullptr);
  }
  constexpr std::uint64_t ticks = std::uint64_t{1} << (signal_of_ticks - 1);
  ask(SYS_rt_sigprocmask, SIG_UNBLOCK, &ticks, nullptr);  // the program's parent may have blocked it
}

}  // namespace corescale::profiler

using namespace corescale::profiler;

CORESCALE_EXPORT int pthread_cancel(pthread_t thread) {
  REAL(pthread_cancel, int(pthread_t));
  const int result = real_pthread_cancel(thread);
  if (live()) take_signal();
  return result;
}

CORESCALE_EXPORT int sigwait(const sigset_t* given, int* number) {
  REAL(sigwait, int(const sigset_t*, int*));
  const Wait wait(blocked);
  return real_sigwait(given, number);
}

CORESCALE_EXPORT int sigwaitinfo(const sigset_t* given, siginfo_t* info) {
  REAL(sigwaitinfo, int(const sigset_t*, siginfo_t*));
  const Wait wait(blocked);
  return real_sigwaitinfo(given, info);
}

CORESCALE_EXPORT int sigtimedwait(const sigset_t* given, siginfo_t* info, const timespec* until) {
  REAL(sigtimedwait, int(const sigset_t*, siginfo_t*, const timespec*));
  const Wait wait(blocked);
  return real_sigtimedwait(given, info, until);
}

// If a signal handler leaves a wait by a jump or for another context, the wait ends there.
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

CORESCALE_EXPORT int setcontext(const ucontext_t* to) noexcept {
  REAL(setcontext, int(const ucontext_t*));
  if (local.wait) local.wait->end();
  return real_setcontext(to);
}

CORESCALE_EXPORT int swapcontext(ucontext_t* from, const ucontext_t* to) noexcept {
  REAL(swapcontext, int(ucontext_t*, const ucontext_t*));
  if (local.wait) local.wait->end();
  return real_swapcontext(from, to);
}
