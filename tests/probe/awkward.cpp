// SPDX-License-Identifier: Apache-2.0 (more than 300 lines: one program that has each habit, which share nothing else)
// Programs that do what is allowed and rare: awkward PART [SECONDS] [LIBRARY...]. Each computes for so many seconds of CPU
// time after it, and ends with 0 if it was served as without a profiler.
#include <aio.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <vector>

namespace {

double seconds = 0.5;
std::vector<char*> libraries;

__attribute__((noinline)) void grind(double length) {
  const auto cpu = [] {
    timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  const double until = cpu() + length;
  volatile double sum = 1;
  do
    for (int i = 0; i < 2000; ++i) sum = sum * 1.0000001 + 1e-9;
  while (cpu() < until);
}

// What the kernel takes; the C library's functions are not asked.
struct RawAction {
  void* handler;
  unsigned long flags;
  void* restorer;
  unsigned long mask;
};

int reset_signals() {
  for (int number = 1; number <= 64; ++number) signal(number, SIG_DFL);
  grind(seconds);
  return 0;
}

int reset_signals_raw() {
  const RawAction action = {};
  for (int number = 1; number <= 64; ++number)
    syscall(SYS_rt_sigaction, number, &action, nullptr, sizeof action.mask);
  grind(seconds);
  return 0;
}

int block_signals() {
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, &before);
  grind(seconds);
  return 0;
}

// Not even the C library's own signals arrive.
int block_signals_raw() {
  const unsigned long all = ~0UL;
  syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, nullptr, sizeof all);
  grind(seconds);
  return 0;
}

volatile sig_atomic_t urgent = 0;

int handle_urgent() {
  struct sigaction action = {}, seen = {};
  action.sa_handler = [](int) { urgent = urgent + 1; };
  sigaction(SIGURG, &action, &seen);
  if (seen.sa_handler != SIG_DFL) return 1;
  for (int i = 0; i < 10; ++i) raise(SIGURG);
  grind(seconds);
  sigaction(SIGURG, nullptr, &seen);
  return urgent != 10 || seen.sa_handler != action.sa_handler;
}

int wait_for_any_signal() {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, nullptr);
  std::thread other([] {
    grind(seconds);
    kill(getpid(), SIGTERM);
  });
  int number = 0;
  sigwait(&all, &number);
  other.join();
  return number != SIGTERM;
}

// Sent by another thread, and taken in each way there is.
int wait_for_urgent() {
  alarm(10);
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, SIGURG);
  sigprocmask(SIG_BLOCK, &one, nullptr);
  const auto taken = [](const std::function<int()>& take) {
    std::thread other([] {
      usleep(10'000);
      kill(getpid(), SIGURG);
    });
    const bool right = take() == SIGURG;
    other.join();
    return right;
  };
  const bool all = taken([&] {
                     int number = 0;
                     return sigwait(&one, &number) ? 0 : number;
                   }) &&
                   taken([&] { return sigwaitinfo(&one, nullptr); }) && taken([&] {
                     signalfd_siginfo info = {};
                     const int file = signalfd(-1, &one, 0);
                     return read(file, &info, sizeof info) < 0 ? 0 : static_cast<int>(info.ssi_signo);
                   });
  grind(seconds);
  return !all;
}

// The C library has each thread make the call.
int change_user() {
  alarm(10);
  std::atomic<bool> changed{false};
  std::thread other([&changed] {
    while (!changed) grind(0.001);
    grind(seconds / 2);
  });
  for (int i = 0; i < 100; ++i)
    if (setresuid(getuid(), geteuid(), geteuid())) return 1;
  changed = true;
  grind(seconds / 2);
  other.join();
  return 0;
}

int strict() {
  prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
  volatile double sum = 1;
  for (int i = 0; i < 20'000'000; ++i) sum = sum * 1.0000001 + 1e-9;
  syscall(SYS_exit, 0);
  return 1;
}

// From now on, the kernel kills the process for either call.
bool filtered(bool by_syscall, unsigned one, unsigned other) {
  sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, one, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, other, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog program = {std::size(rules), rules};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  return (by_syscall ? syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program)
                     : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) == 0;
}

int forbid(bool by_syscall) {
  std::thread before([] { grind(seconds / 2); });
  grind(seconds);
  if (!filtered(by_syscall, SYS_openat, SYS_timer_create)) return 1;
  std::thread after([] { grind(seconds / 2); });
  usleep(1000);
  grind(seconds);
  before.join();
  after.join();
  return 0;
}

// Children behind a filter end as they do without a profiler; one of them executes another program.
int children_behind_a_filter(pid_t (*forks)()) {
  grind(seconds);
  if (!filtered(false, SYS_ftruncate, SYS_timer_create)) return 1;
  const auto code = [](pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  };
  const pid_t simple = forks();
  if (simple == 0) _exit(7);
  const pid_t other = forks();
  if (other == 0) {
    execl("/bin/sh", "sh", "-c", "exit 9", nullptr);
    _exit(1);
  }
  return code(simple) != 7 || code(other) != 9;
}

int ask_for_filters() {  // as who wants to know whether the kernel has them
  prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, nullptr);
  syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, nullptr);
  grind(seconds);
  return 0;
}

int c11_threads() {
  thrd_t made;
  int result = 0;
  const auto body = [](void*) {
    grind(seconds);
    return 7;
  };
  if (thrd_create(&made, body, nullptr) != thrd_success) return 1;
  grind(seconds);
  thrd_join(made, &result);
  return result != 7;
}

int main_leaves() {
  std::thread([] {
    usleep(100'000);
    grind(seconds);
  }).detach();
  pthread_exit(nullptr);
}

sigjmp_buf place;
ucontext_t context;

void jump(int) { siglongjmp(place, 1); }
void switch_back(int) { setcontext(&context); }

int compute_and_sleep() {
  grind(seconds);
  usleep(static_cast<useconds_t>(seconds * 1e6));
  return 0;
}

int jump_out_of_sleep() {
  signal(SIGALRM, jump);
  if (sigsetjmp(place, 1) == 0) {
    ualarm(50'000, 0);
    sleep(60);
    return 1;
  }
  return compute_and_sleep();
}

int switch_out_of_sleep() {
  static volatile bool began = false;
  signal(SIGALRM, switch_back);
  getcontext(&context);
  if (!began) {
    began = true;
    ualarm(50'000, 0);
    sleep(60);
    return 1;
  }
  return compute_and_sleep();
}

// Waits of 1 ms and then of the given seconds, for time and for locks.
std::mutex first_lock, second_lock;
__attribute__((noinline)) void short_sleep() {
  [[maybe_unused]] const volatile int no_tail_call = usleep(1000);
}
__attribute__((noinline)) void long_sleep() {
  [[maybe_unused]] const volatile int no_tail_call = usleep(static_cast<useconds_t>(seconds * 1e6));
}
__attribute__((noinline)) void short_lock() { const std::lock_guard held(first_lock); }
__attribute__((noinline)) void long_lock() { const std::lock_guard held(second_lock); }

int long_waits_after_short() {
  first_lock.lock();
  second_lock.lock();
  std::atomic<bool> began{false};
  std::thread other([&] {
    began = true;
    short_lock();
    long_lock();
  });
  while (!began) sched_yield();
  short_sleep();
  first_lock.unlock();
  long_sleep();
  second_lock.unlock();
  other.join();
  return 0;
}

// Prints the share of the first of two kinds of short waits.
__attribute__((noinline)) double sleep_less() {
  const auto began = std::chrono::steady_clock::now();
  usleep(20);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}
__attribute__((noinline)) double sleep_more() {
  const auto began = std::chrono::steady_clock::now();
  usleep(250);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

int short_waits() {
  double less = 0, more = 0;
  while (less + more < seconds) {
    less += sleep_less();
    more += sleep_more();
  }
  std::printf("%f", less / (less + more));
  return 0;
}

// Waits that nothing ends.
int dry_pipe[2];
std::mutex never_free;
std::condition_variable never_told;
__attribute__((noinline)) void poll_for_ever() {
  pollfd dry = {dry_pipe[0], POLLIN, 0};
  [[maybe_unused]] const volatile int no_tail_call = poll(&dry, 1, -1);
}
__attribute__((noinline)) void join_for_ever(std::thread& other) {
  other.join();
  [[maybe_unused]] const volatile int no_tail_call = 0;
}
__attribute__((noinline)) void told_for_ever() {
  std::unique_lock lock(never_free);
  never_told.wait(lock, [] { return false; });
}
int waits_without_end() {
  if (pipe(dry_pipe) != 0) return 1;
  std::thread other(poll_for_ever), told(told_for_ever);
  join_for_ever(other);
  told.join();
  return 0;
}
int exits_beside_a_wait() {
  if (pipe(dry_pipe) != 0) return 1;
  std::thread([] {
    grind(seconds);
    std::exit(0);
  }).detach();
  poll_for_ever();
  return 1;
}

// Each takes a semaphore that is free until it is cancelled.
int cancelled_at_a_free_semaphore() {
  alarm(10);
  using Body = void*(void*);
  static sem_t semaphore;
  static constexpr Body* bodies[] = {
      [](void*) -> void* {
        for (;; sem_wait(&semaphore)) sem_post(&semaphore);
      },
      [](void*) -> void* {
        for (const timespec until = {time(nullptr) + 60, 0};; sem_timedwait(&semaphore, &until))
          sem_post(&semaphore);
      }};
  for (Body* body : bodies) {
    pthread_t made;
    sem_init(&semaphore, 0, 0);
    pthread_create(&made, nullptr, body, nullptr);
    usleep(10'000);
    pthread_cancel(made);
    void* result;
    if (pthread_join(made, &result) || result != PTHREAD_CANCELED) return 1;
  }
  return 0;
}

// Prints what the C library says to time limits and clocks that there are not, of what is free.
int no_time_limits() {
  const timespec limit = {time(nullptr) + 60, -1}, good = {limit.tv_sec, 0};
  constexpr clockid_t none = 99;
  const auto of_semaphore = [&](auto take) {
    sem_t free;
    sem_init(&free, 0, 1);
    std::printf("%d ", take(&free) ? errno : 0);
  };
  const auto of_mutex = [](auto lock) {
    pthread_mutex_t free = PTHREAD_MUTEX_INITIALIZER;
    std::printf("%d ", lock(&free));
  };
  const auto of_both = [](auto lock) {
    pthread_rwlock_t free = PTHREAD_RWLOCK_INITIALIZER;
    std::printf("%d ", lock(&free));
  };
  of_semaphore([&](sem_t* one) { return sem_timedwait(one, &limit); });
  of_semaphore([&](sem_t* one) { return sem_clockwait(one, none, &good); });
  of_mutex([&](pthread_mutex_t* one) { return pthread_mutex_timedlock(one, &limit); });
  of_mutex([&](pthread_mutex_t* one) { return pthread_mutex_clocklock(one, none, &good); });
  of_both([&](pthread_rwlock_t* one) { return pthread_rwlock_timedrdlock(one, &limit); });
  of_both([&](pthread_rwlock_t* one) { return pthread_rwlock_timedwrlock(one, &limit); });
  of_both([&](pthread_rwlock_t* one) { return pthread_rwlock_clockrdlock(one, none, &good); });
  of_both([&](pthread_rwlock_t* one) { return pthread_rwlock_clockwrlock(one, none, &good); });
  of_both([&](pthread_rwlock_t* one) { return pthread_rwlock_clockwrlock(one, CLOCK_MONOTONIC, &good); });
  return 0;
}

int wait_in_a_handler() {  // that comes at any point of another wait
  signal(SIGALRM, [](int) { usleep(1); });
  ualarm(200, 200);
  for (const time_t until = time(nullptr) + 3; time(nullptr) < until;) usleep(1);
  ualarm(0, 0);
  grind(seconds);
  return 0;
}

int by_new() {
  for (std::size_t i = 0; i < 100'000; ++i) {
    char* volatile block = new char[64 + i % 7];
    delete[] block;
  }
  return 0;
}

int child_of(pid_t child) {
  if (child == 0) {
    by_new();
    grind(seconds);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

int quiet_fork() { return child_of(_Fork()); }
int raw_fork() { return child_of(static_cast<pid_t>(syscall(SYS_fork))); }
int raw_clone() {
  static char stack[1 << 18];
  const auto body = [](void*) {
    by_new();
    grind(seconds);
    usleep(1000);
    return 0;
  };
  int status = 0;
  const pid_t child = clone(body, stack + sizeof stack, SIGCHLD, nullptr);
  waitpid(child, &status, 0);
  return status;
}

int execute() {
  grind(seconds);
  const std::string length = std::to_string(seconds);
  execl("/proc/self/exe", "awkward", "compute", length.c_str(), nullptr);
  return 1;
}

int compute() {
  grind(seconds);
  return 0;
}

int many_threads_by_turns() {
  for (int i = 0; i < 20'000; ++i)
    std::thread([] {
      void* const volatile block = malloc(100);
      free(block);
    }).join();
  return 0;
}

int two_hundred_forks() {
  for (int i = 0; i < 200; ++i)
    if (const pid_t child = fork(); child == 0)
      _exit(0);
    else
      waitpid(child, nullptr, 0);
  return 0;
}

// Children that end at once, of threads that hold the loader's lock most of the time.
int forks_beside_the_loader() {
  std::atomic<bool> done{false};
  std::vector<std::thread> made;
  for (int i = 0; i < 2; ++i)
    made.emplace_back([&done] {
      while (!done) dl_iterate_phdr([](dl_phdr_info*, std::size_t, void*) { return 0; }, nullptr);
    });
  two_hundred_forks();
  done = true;
  for (auto& each : made) each.join();
  return 0;
}

int libraries_by_turns() {
  for (int round = 0; round < 4; ++round)
    for (char* path : libraries) {
      void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
      if (!library) return 1;
      void (*work)(double);
      *reinterpret_cast<void**>(&work) = dlsym(library, "work");
      work(seconds / 4);
      dlclose(library);
    }
  return 0;
}

int coroutines() {
  static ucontext_t outer, inner;
  static char stack[1 << 16];
  getcontext(&inner);
  inner.uc_stack = {stack, 0, sizeof stack};
  inner.uc_link = &outer;
  makecontext(
      &inner, [] { grind(seconds); }, 0);
  return swapcontext(&outer, &inner);
}

/// Two threads share a CPU, and no file can be opened.
int no_descriptors() {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  sched_setaffinity(0, sizeof one, &one);
  const rlimit none{};
  setrlimit(RLIMIT_NOFILE, &none);
  std::thread other([] { grind(seconds); });
  grind(seconds);
  other.join();
  return 0;
}

int close_all() {
  for (int descriptor = 3; descriptor < 2048; ++descriptor) close(descriptor);
  grind(seconds);
  return 0;
}

// Only this thread opens and closes files while others compute, so an open gives the number that was closed last, and what it puts there
// stays.
int own_numbers() {
  alarm(20);
  std::atomic<bool> done{false};
  std::thread other([&done] {
    grind(seconds);
    done = true;
  });
  int ends[2];
  if (pipe(ends)) return 1;
  const int low = open("/dev/null", O_RDONLY);
  int taken = 0, lost = 0;
  bool before = false;  // the thread that has the number may lose its core, and then has it for many rounds
  while (!done) {
    close(low);
    const int made = open("/dev/null", O_RDONLY);
    if (made >= 0 && made != low) close(made);
    close(low);
    const bool put = dup2(ends[0], low) == low;
    if (put) lost += fcntl(low, F_GETFD) < 0;
    const bool now = made != low || !put;
    taken += now && !before;
    before = now;
  }
  other.join();
  printf("taken %d, lost %d\n", taken, lost);
  return lost ? 255 : std::min(taken, 254);
}

// A forked child has at most two descriptors of the profiler, however many threads its parent has.
int descriptors_of_a_child() {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) threads.emplace_back([] { grind(seconds / 8); });
  usleep(100'000);
  const pid_t child = fork();
  if (child == 0) {
    int open = 0;
    for (int number = 3; number < 1200; ++number) open += fcntl(number, F_GETFD) >= 0;
    _exit(open);
  }
  int status = 0;
  waitpid(child, &status, 0);
  for (std::thread& one : threads) one.join();
  return WEXITSTATUS(status);
}

int clear_environment() {
  clearenv();
  grind(seconds);
  return child_of(fork());
}

int tiny_stacks() {
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 16384);
  pthread_t made;
  pthread_create(
      &made, &small,
      [](void*) -> void* {
        grind(seconds);
        return nullptr;
      },
      nullptr);
  return pthread_join(made, nullptr);
}

int cancelled_in_a_wait() {
  static std::atomic<bool> ground{false};
  pthread_t made;
  pthread_create(
      &made, nullptr,
      [](void*) -> void* {
        grind(seconds);
        ground = true;
        sleep(60);
        return nullptr;
      },
      nullptr);
  while (!ground) usleep(1000);
  usleep(100'000);
  pthread_cancel(made);
  void* result;
  pthread_join(made, &result);
  return result != PTHREAD_CANCELED;
}

// Threads compute when they are cancelled, some of them in a tick.
int cancel_at_once() {
  bool cancelled = true;
  for (int k = 0; k < 60; ++k) {
    std::atomic<bool> began{false};
    pthread_t made;
    pthread_create(
        &made, nullptr,
        [](void* started) -> void* {
          pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, nullptr);
          *static_cast<std::atomic<bool>*>(started) = true;
          grind(60);
          return nullptr;
        },
        &began);
    while (!began) usleep(100);
    usleep(20 * k);
    pthread_cancel(made);
    void* result;
    pthread_join(made, &result);
    cancelled = cancelled && result == PTHREAD_CANCELED;
  }
  grind(seconds);
  return !cancelled;
}

// The thread is asked to end, but meets no place where it may be cancelled.
int cancel_later() {
  static std::atomic<bool> began{false}, asked{false};
  pthread_t made;
  pthread_create(
      &made, nullptr,
      [](void*) -> void* {
        began = true;
        while (!asked) {
        }
        const pid_t child = fork();
        if (!child) syscall(SYS_exit_group, 7);
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
        int status = 0;
        waitpid(child, &status, 0);
        grind(seconds);
        exit(!(WIFEXITED(status) && WEXITSTATUS(status) == 7));
      },
      nullptr);
  while (!began) usleep(1000);
  pthread_cancel(made);
  asked = true;
  pthread_join(made, nullptr);
  return 2;
}

// The C library starts the program's first thread for this.
int read_beside() {
  static char text[16];
  static aiocb read = {};
  read.aio_fildes = open("/proc/self/exe", O_RDONLY);
  read.aio_buf = text;
  read.aio_nbytes = sizeof text;
  const aiocb* const list[] = {&read};
  if (aio_read(&read) || aio_suspend(list, 1, nullptr)) return 1;
  grind(seconds);
  return aio_return(&read) != sizeof text;
}

int timer_with_threads() {
  static std::atomic<int> expired{0};
  sigevent event = {};
  event.sigev_notify = SIGEV_THREAD;
  event.sigev_notify_function = [](sigval) { ++expired; };
  timer_t timer;
  if (timer_create(CLOCK_MONOTONIC, &event, &timer)) return 1;
  const itimerspec often = {{0, 20'000'000}, {0, 20'000'000}};
  timer_settime(timer, 0, &often, nullptr);
  grind(seconds);
  timer_delete(timer);
  return expired == 0;
}

int new_that_throws() {
  volatile std::size_t most = std::numeric_limits<std::size_t>::max() / 4;
  for (int i = 0; i < 200; ++i) try {
      delete[] new char[most];
    } catch (const std::bad_alloc&) {
    }
  grind(seconds);
  return 0;
}

const std::map<std::string, std::function<int()>> parts = {
    {"by_new", by_new},
    {"reset_signals", reset_signals},
    {"reset_signals_raw", reset_signals_raw},
    {"block_signals", block_signals},
    {"block_signals_raw", block_signals_raw},
    {"cancel_at_once", cancel_at_once},
    {"cancel_later", cancel_later},
    {"read_beside", read_beside},
    {"timer_with_threads", timer_with_threads},
    {"handle_urgent", handle_urgent},
    {"wait_for_any_signal", wait_for_any_signal},
    {"wait_for_urgent", wait_for_urgent},
    {"change_user", change_user},
    {"strict", strict},
    {"forbid_by_prctl", [] { return forbid(false); }},
    {"forbid_by_syscall", [] { return forbid(true); }},
    {"fork_behind_a_filter", [] { return children_behind_a_filter(fork); }},
    {"quiet_fork_behind_a_filter", [] { return children_behind_a_filter(_Fork); }},
    {"ask_for_filters", ask_for_filters},
    {"c11_threads", c11_threads},
    {"main_leaves", main_leaves},
    {"jump_out_of_sleep", jump_out_of_sleep},
    {"switch_out_of_sleep", switch_out_of_sleep},
    {"long_waits_after_short", long_waits_after_short},
    {"short_waits", short_waits},
    {"waits_without_end", waits_without_end},
    {"exits_beside_a_wait", exits_beside_a_wait},
    {"cancelled_at_a_free_semaphore", cancelled_at_a_free_semaphore},
    {"no_time_limits", no_time_limits},
    {"wait_in_a_handler", wait_in_a_handler},
    {"quiet_fork", quiet_fork},
    {"raw_fork", raw_fork},
    {"raw_clone", raw_clone},
    {"execute", execute},
    {"compute", compute},
    {"churn", many_threads_by_turns},
    {"forks", two_hundred_forks},
    {"forks_beside_the_loader", forks_beside_the_loader},
    {"libraries_by_turns", libraries_by_turns},
    {"coroutines", coroutines},
    {"close_all", close_all},
    {"no_descriptors", no_descriptors},
    {"own_numbers", own_numbers},
    {"descriptors_of_a_child", descriptors_of_a_child},
    {"clear_environment", clear_environment},
    {"tiny_stacks", tiny_stacks},
    {"cancelled_in_a_wait", cancelled_in_a_wait},
    {"new_that_throws", new_that_throws},
};

}  // namespace

int main(int count, char** word) {
  const auto part = parts.find(count > 1 ? word[1] : "");
  if (part == parts.end()) return 2;
  if (count > 2) seconds = std::atof(word[2]);
  for (int i = 3; i < count; ++i) libraries.push_back(word[i]);
  return part->second();
}
