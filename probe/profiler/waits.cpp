// SPDX-License-Identifier: Apache-2.0 (more than 300 lines: each function that waits)
// Waiting. If possible, each function is first tried without waiting. So only a real wait costs a reading of clocks.
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdarg.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

#include <cerrno>

#include "profiler/profiler.hpp"

namespace corescale::profiler {
namespace {

// A thread that is cancelled here runs no destructor: end_thread books its wait.
template <class Real, class... Given>
auto waited(State state, Real* real, Given... given) {
  const Wait wait(state);
  return real(given...);
}

// A call that asks only what is there already is no wait.
template <class Real, class... Given>
auto waited_if(bool waits, State state, Real* real, Given... given) {
  return waits ? waited(state, real, given...) : real(given...);
}
constexpr timespec no_time = {};
bool waits_for(const timespec* length) { return !length || length->tv_sec || length->tv_nsec; }

// What can be had without waiting costs no reading of clocks. `found`: what a call that does not wait has found; 0 is nothing.
template <class Real, class... Given>
int found_or_waited(int found, bool waits, Real* real, Given... given) {
  return found || !waits ? found : waited(blocked, real, given...);
}

// Whether the C library takes these limits. It refuses some others even if nothing has to be waited for, so no wrapper answers then.
bool valid() { return true; }
bool valid(const timespec* until) { return until && until->tv_nsec >= 0 && until->tv_nsec < 1'000'000'000; }
bool valid(clockid_t clock, const timespec* until) {
  return (clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC) && valid(until);
}

// The same of a lock that is free.
template <class Lock, class... Given>
int lock_or_wait(int (*attempt)(Lock*), int (*lock_by)(Lock*, Given...), Lock* lock, Given... given) {
  const int result = valid(given...) ? attempt(lock) : EBUSY;
  return result == EBUSY ? waited(locking, lock_by, lock, given...) : result;
}

// The same of a semaphore that can be taken.
template <class... Given>
int take_or_wait(int (*attempt)(sem_t*), int (*take_by)(sem_t*, Given...), sem_t* semaphore, Given... given) {
  const int error = errno;
  if (valid(given...)) {
    if (attempt(semaphore) == 0) return 0;
    errno = error;
  }
  return waited(event, take_by, semaphore, given...);
}

struct {
  int (*mutex_lock)(pthread_mutex_t*);
  int (*mutex_trylock)(pthread_mutex_t*);
  int (*cond_wait)(pthread_cond_t*, pthread_mutex_t*);
} c_library;

// The reason for a wait by futex. In a task runtime, workers wait for work, and other threads wait until tasks end.
State futex_wait_by(const void* caller) {
  if (!live() || !local.thread || !of_tasks(caller)) return event;
  return local.thread->pool == task_pool ? pooled : joining;
}

// The CPU time that a loop of yields has used since its last yield.
void book_spin(Thread& thread) {
  const std::int64_t time = now(), cpu = cpu_of(thread);
  if (time - thread.last_yield < 20'000'000 && cpu - thread.cpu_since < 20'000) {
    thread.burnt[spinning] += cpu - thread.cpu_since;
    thread.spent[spinning] += cpu - thread.cpu_since;
    ++thread.calls[spinning];
  }
  thread.last_yield = time;
  thread.cpu_since = cpu;
}

}  // namespace

void resolve_waits() {
  c_library.mutex_lock = next<int(pthread_mutex_t*)>("pthread_mutex_lock");
  c_library.mutex_trylock = next<int(pthread_mutex_t*)>("pthread_mutex_trylock");
  c_library.cond_wait = next<int(pthread_cond_t*, pthread_mutex_t*)>("pthread_cond_wait", "GLIBC_2.3.2");
}

}  // namespace corescale::profiler

using namespace corescale::profiler;

// REAL_NEW: glibc kept old versions of these next to the new ones, and an unversioned name gives the old one.

CORESCALE_EXPORT int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  if (!c_library.mutex_lock) resolve_waits();
  if (!local.thread) return c_library.mutex_lock(mutex);
  return lock_or_wait(c_library.mutex_trylock, c_library.mutex_lock, mutex);
}

CORESCALE_EXPORT int pthread_mutex_timedlock(pthread_mutex_t* mutex, const timespec* until) noexcept {
  REAL(pthread_mutex_trylock, int(pthread_mutex_t*));
  REAL(pthread_mutex_timedlock, int(pthread_mutex_t*, const timespec*));
  return lock_or_wait(real_pthread_mutex_trylock, real_pthread_mutex_timedlock, mutex, until);
}

CORESCALE_EXPORT int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock,
                                             const timespec* until) noexcept {
  REAL(pthread_mutex_trylock, int(pthread_mutex_t*));
  REAL(pthread_mutex_clocklock, int(pthread_mutex_t*, clockid_t, const timespec*));
  return lock_or_wait(real_pthread_mutex_trylock, real_pthread_mutex_clocklock, mutex, clock, until);
}

CORESCALE_EXPORT int pthread_rwlock_rdlock(pthread_rwlock_t* lock) noexcept {
  REAL(pthread_rwlock_tryrdlock, int(pthread_rwlock_t*));
  REAL(pthread_rwlock_rdlock, int(pthread_rwlock_t*));
  return lock_or_wait(real_pthread_rwlock_tryrdlock, real_pthread_rwlock_rdlock, lock);
}

CORESCALE_EXPORT int pthread_rwlock_wrlock(pthread_rwlock_t* lock) noexcept {
  REAL(pthread_rwlock_trywrlock, int(pthread_rwlock_t*));
  REAL(pthread_rwlock_wrlock, int(pthread_rwlock_t*));
  return lock_or_wait(real_pthread_rwlock_trywrlock, real_pthread_rwlock_wrlock, lock);
}

CORESCALE_EXPORT int pthread_rwlock_timedrdlock(pthread_rwlock_t* lock, const timespec* until) noexcept {
  REAL(pthread_rwlock_tryrdlock, int(pthread_rwlock_t*));
  REAL(pthread_rwlock_timedrdlock, int(pthread_rwlock_t*, const timespec*));
  return lock_or_wait(real_pthread_rwlock_tryrdlock, real_pthread_rwlock_timedrdlock, lock, until);
}

CORESCALE_EXPORT int pthread_rwlock_timedwrlock(pthread_rwlock_t* lock, const timespec* until) noexcept {
  REAL(pthread_rwlock_trywrlock, int(pthread_rwlock_t*));
  REAL(pthread_rwlock_timedwrlock, int(pthread_rwlock_t*, const timespec*));
  return lock_or_wait(real_pthread_rwlock_trywrlock, real_pthread_rwlock_timedwrlock, lock, until);
}

CORESCALE_EXPORT int pthread_rwlock_clockrdlock(pthread_rwlock_t* lock, clockid_t clock,
                                                const timespec* until) noexcept {
  REAL(pthread_rwlock_tryrdlock, int(pthread_rwlock_t*));
  REAL(pthread_rwlock_clockrdlock, int(pthread_rwlock_t*, clockid_t, const timespec*));
  return lock_or_wait(real_pthread_rwlock_tryrdlock, real_pthread_rwlock_clockrdlock, lock, clock, until);
}

CORESCALE_EXPORT int pthread_rwlock_clockwrlock(pthread_rwlock_t* lock, clockid_t clock,
                                                const timespec* until) noexcept {
  REAL(pthread_rwlock_trywrlock, int(pthread_rwlock_t*));
  REAL(pthread_rwlock_clockwrlock, int(pthread_rwlock_t*, clockid_t, const timespec*));
  return lock_or_wait(real_pthread_rwlock_trywrlock, real_pthread_rwlock_clockwrlock, lock, clock, until);
}

CORESCALE_EXPORT int pthread_spin_lock(pthread_spinlock_t* lock) noexcept {
  REAL(pthread_spin_trylock, int(pthread_spinlock_t*));
  REAL(pthread_spin_lock, int(pthread_spinlock_t*));
  const int result = real_pthread_spin_trylock(lock);
  if (result != EBUSY || !live() || !local.thread || local.spinning)
    return result == EBUSY ? real_pthread_spin_lock(lock) : result;
  Thread& thread = *local.thread;
  const std::int64_t cpu = cpu_now();
  local.spinning = true;
  const int locked = real_pthread_spin_lock(lock);
  local.spinning = false;
  const std::int64_t used = cpu_since(thread, cpu);
  thread.burnt[spinning] += used;
  thread.spent[spinning] += used;
  ++thread.calls[spinning];
  return locked;
}

CORESCALE_EXPORT int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  if (!c_library.cond_wait) resolve_waits();
  return waited(event, c_library.cond_wait, condition, mutex);
}

CORESCALE_EXPORT int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                            const timespec* until) {
  REAL_NEW(pthread_cond_timedwait, "GLIBC_2.3.2", int(pthread_cond_t*, pthread_mutex_t*, const timespec*));
  return waited(event, real_pthread_cond_timedwait, condition, mutex, until);
}

CORESCALE_EXPORT int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                            clockid_t clock, const timespec* until) {
  REAL(pthread_cond_clockwait, int(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*));
  return waited(event, real_pthread_cond_clockwait, condition, mutex, clock, until);
}

CORESCALE_EXPORT int pthread_barrier_wait(pthread_barrier_t* at) noexcept {
  REAL(pthread_barrier_wait, int(pthread_barrier_t*));
  return waited(barrier, real_pthread_barrier_wait, at);
}

CORESCALE_EXPORT int pthread_join(pthread_t thread, void** value) {
  REAL(pthread_join, int(pthread_t, void**));
  return waited(joining, real_pthread_join, thread, value);
}

CORESCALE_EXPORT int sem_wait(sem_t* semaphore) {
  REAL(sem_trywait, int(sem_t*));
  REAL_NEW(sem_wait, "GLIBC_2.2.5", int(sem_t*));
  pthread_testcancel();  // an attempt is no place to be cancelled
  return take_or_wait(real_sem_trywait, real_sem_wait, semaphore);
}

CORESCALE_EXPORT int sem_timedwait(sem_t* semaphore, const timespec* until) {
  REAL(sem_trywait, int(sem_t*));
  REAL(sem_timedwait, int(sem_t*, const timespec*));
  if (valid(until)) pthread_testcancel();
  return take_or_wait(real_sem_trywait, real_sem_timedwait, semaphore, until);
}

CORESCALE_EXPORT int sem_clockwait(sem_t* semaphore, clockid_t clock, const timespec* until) {
  REAL(sem_trywait, int(sem_t*));
  REAL(sem_clockwait, int(sem_t*, clockid_t, const timespec*));
  return take_or_wait(real_sem_trywait, real_sem_clockwait, semaphore, clock, until);
}

CORESCALE_EXPORT int mtx_lock(mtx_t* mutex) {
  REAL(mtx_trylock, int(mtx_t*));
  REAL(mtx_lock, int(mtx_t*));
  const int result = real_mtx_trylock(mutex);
  return result == thrd_busy ? waited(locking, real_mtx_lock, mutex) : result;
}

CORESCALE_EXPORT int cnd_wait(cnd_t* condition, mtx_t* mutex) {
  REAL(cnd_wait, int(cnd_t*, mtx_t*));
  return waited(event, real_cnd_wait, condition, mutex);
}

CORESCALE_EXPORT int cnd_timedwait(cnd_t* condition, mtx_t* mutex, const timespec* until) {
  REAL(cnd_timedwait, int(cnd_t*, mtx_t*, const timespec*));
  return waited(event, real_cnd_timedwait, condition, mutex, until);
}

CORESCALE_EXPORT int mtx_timedlock(mtx_t* mutex, const timespec* until) {
  REAL(mtx_trylock, int(mtx_t*));
  REAL(mtx_timedlock, int(mtx_t*, const timespec*));
  const int result = real_mtx_trylock(mutex);
  return result == thrd_busy ? waited(locking, real_mtx_timedlock, mutex, until) : result;
}

CORESCALE_EXPORT int thrd_join(thrd_t thread, int* result) {
  REAL(thrd_join, int(thrd_t, int*));
  return waited(joining, real_thrd_join, thread, result);
}

CORESCALE_EXPORT int thrd_sleep(const timespec* length, timespec* rest) {
  REAL(thrd_sleep, int(const timespec*, timespec*));
  return waited(blocked, real_thrd_sleep, length, rest);
}

CORESCALE_EXPORT int nanosleep(const timespec* length, timespec* rest) {
  REAL(nanosleep, int(const timespec*, timespec*));
  return waited(blocked, real_nanosleep, length, rest);
}

CORESCALE_EXPORT int clock_nanosleep(clockid_t clock, int flags, const timespec* length, timespec* rest) {
  REAL(clock_nanosleep, int(clockid_t, int, const timespec*, timespec*));
  return waited(blocked, real_clock_nanosleep, clock, flags, length, rest);
}

CORESCALE_EXPORT int usleep(useconds_t length) {
  REAL(usleep, int(useconds_t));
  return waited(blocked, real_usleep, length);
}

CORESCALE_EXPORT unsigned sleep(unsigned length) {
  REAL(sleep, unsigned(unsigned));
  return waited(blocked, real_sleep, length);
}

CORESCALE_EXPORT int poll(pollfd* files, nfds_t count, int milliseconds) {
  REAL(poll, int(pollfd*, nfds_t, int));
  const int found = real_poll(files, count, 0);
  return found_or_waited(found, milliseconds != 0, real_poll, files, count, milliseconds);
}

CORESCALE_EXPORT int ppoll(pollfd* files, nfds_t count, const timespec* length, const sigset_t* mask) {
  REAL(ppoll, int(pollfd*, nfds_t, const timespec*, const sigset_t*));
  const int found = real_ppoll(files, count, &no_time, mask);
  return found_or_waited(found, waits_for(length), real_ppoll, files, count, length, mask);
}

CORESCALE_EXPORT int epoll_wait(int epoll, epoll_event* events, int most, int milliseconds) {
  REAL(epoll_wait, int(int, epoll_event*, int, int));
  const int found = real_epoll_wait(epoll, events, most, 0);
  return found_or_waited(found, milliseconds != 0, real_epoll_wait, epoll, events, most, milliseconds);
}

CORESCALE_EXPORT int epoll_pwait(int epoll, epoll_event* events, int most, int milliseconds,
                                 const sigset_t* mask) {
  REAL(epoll_pwait, int(int, epoll_event*, int, int, const sigset_t*));
  const int found = real_epoll_pwait(epoll, events, most, 0, mask);
  return found_or_waited(found, milliseconds != 0, real_epoll_pwait, epoll, events, most, milliseconds, mask);
}

CORESCALE_EXPORT int select(int count, fd_set* read, fd_set* write, fd_set* other, timeval* length) {
  REAL(select, int(int, fd_set*, fd_set*, fd_set*, timeval*));
  const bool waits = !length || length->tv_sec || length->tv_usec;
  return waited_if(waits, blocked, real_select, count, read, write, other, length);
}

CORESCALE_EXPORT int pselect(int count, fd_set* read, fd_set* write, fd_set* other, const timespec* length,
                             const sigset_t* mask) {
  REAL(pselect, int(int, fd_set*, fd_set*, fd_set*, const timespec*, const sigset_t*));
  return waited_if(waits_for(length), blocked, real_pselect, count, read, write, other, length, mask);
}

CORESCALE_EXPORT int sigsuspend(const sigset_t* mask) {
  REAL(sigsuspend, int(const sigset_t*));
  return waited(blocked, real_sigsuspend, mask);
}

CORESCALE_EXPORT pid_t wait(int* status) {
  REAL(wait, pid_t(int*));
  return waited(joining, real_wait, status);
}

CORESCALE_EXPORT pid_t waitpid(pid_t child, int* status, int options) {
  REAL(waitpid, pid_t(pid_t, int*, int));
  return waited_if(!(options & WNOHANG), joining, real_waitpid, child, status, options);
}

CORESCALE_EXPORT pid_t wait3(int* status, int options, rusage* used) noexcept {
  REAL(wait3, pid_t(int*, int, rusage*));
  return waited_if(!(options & WNOHANG), joining, real_wait3, status, options, used);
}

CORESCALE_EXPORT pid_t wait4(pid_t child, int* status, int options, rusage* used) noexcept {
  REAL(wait4, pid_t(pid_t, int*, int, rusage*));
  return waited_if(!(options & WNOHANG), joining, real_wait4, child, status, options, used);
}

CORESCALE_EXPORT int waitid(idtype_t which, id_t child, siginfo_t* found, int options) {
  REAL(waitid, int(idtype_t, id_t, siginfo_t*, int));
  return waited_if(!(options & WNOHANG), joining, real_waitid, which, child, found, options);
}

CORESCALE_EXPORT int sched_yield() noexcept {
  REAL(sched_yield, int());
  if (Thread* const thread = local.thread; thread && live() && thread->state == computing) {
    const int error = errno;
    book_spin(*thread);
    errno = error;
  }
  return real_sched_yield();
}

// Waits by futex that do not use the C library's functions: std::atomic::wait, oneTBB, Rust.
CORESCALE_EXPORT long syscall(long number, ...) noexcept {
  REAL(syscall, long(long, long, long, long, long, long, long));
  va_list given;
  va_start(given, number);
  long word[6];
  for (long& each : word) each = va_arg(given, long);
  va_end(given);
  const long operation = word[1] & FUTEX_CMD_MASK;
  const bool waits = number == SYS_futex && (operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET);
  if (number == SYS_rt_sigaction && word[0] == signal_of_ticks) word[1] = 0;  // only asks
  if (number == SYS_seccomp && word[0] <= 1 && (word[0] == 0 || word[2])) confine();
  if (waits)
    return waited(futex_wait_by(__builtin_return_address(0)), real_syscall, number, word[0], word[1], word[2],
                  word[3], word[4], word[5]);
  return real_syscall(number, word[0], word[1], word[2], word[3], word[4], word[5]);
}
