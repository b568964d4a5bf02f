// SPDX-License-Identifier: Apache-2.0 (more than 300 lines: a part for each kind of thread-second)
// Programs whose thread-seconds are known: known_truth PART threads|openmp|std|tbb THREADS [SCALE [FILE]]. Work is CPU time of
// the thread that does it, so that a busy machine changes no share of it.
#include <fcntl.h>
#include <malloc.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef CORESCALE_TBB
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#endif

#include <atomic>
#include <barrier>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

double cpu() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

__attribute__((noinline)) double grind(double seconds) {
  const double until = cpu() + seconds;
  volatile double sum = 1;
  do
    for (int i = 0; i < 2000; ++i) sum = sum * 1.0000001 + 1e-9;
  while (cpu() < until);
  return sum;
}

using Body = std::function<void(int)>;

void on_pthreads(int threads, const Body& body) {
  struct Given {
    const Body* body;
    int k;
  };
  std::vector<Given> given;
  for (int k = 0; k < threads; ++k) given.push_back({&body, k});
  std::vector<pthread_t> made(static_cast<std::size_t>(threads));
  for (std::size_t k = 1; k < made.size(); ++k)
    pthread_create(
        &made[k], nullptr,
        [](void* one) -> void* {
          auto* const mine = static_cast<Given*>(one);
          (*mine->body)(mine->k);
          return nullptr;
        },
        &given[k]);
  body(0);
  for (std::size_t k = 1; k < made.size(); ++k) pthread_join(made[k], nullptr);
}

void on_std(int threads, const Body& body) {
  std::vector<std::thread> made;
  for (int k = 1; k < threads; ++k) made.emplace_back(body, k);
  body(0);
  for (auto& one : made) one.join();
}

void on_openmp(int threads, const Body& body) {
#pragma omp parallel num_threads(threads)
  body(omp_get_thread_num());
}

void on_tbb([[maybe_unused]] int threads, [[maybe_unused]] const Body& body) {
#ifdef CORESCALE_TBB
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism,
                                  static_cast<std::size_t>(threads));
  std::barrier all(threads);  // no thread takes the work of another
  tbb::task_arena(threads).execute([&] {
    tbb::parallel_for(
        0, threads,
        [&](int k) {
          all.arrive_and_wait();
          body(k);
        },
        tbb::static_partitioner{});
  });
#else
  std::exit(3);
#endif
}

// A fifth of the time in the allocator, by the thread's own clock. Between two looks at it there are up to 4,096 calls, because a call is
// as short as a look. Their number is random, so that no timer keeps step with them. grind goes on until a fifth of all time is in the
// allocator, so what it once did too long is not done the next time. Few pages: a virtual machine may take a hundred times as long to
// touch one for the first time, and the profiler counts only a part of a sampled call as long as that.
__attribute__((noinline)) void allocate_a_fifth(double seconds, int smallest) {
  constexpr int batch = 32;
  std::minstd_rand random;
  std::vector<void*> blocks(batch);
  void* last =
      nullptr;  // keeps the heap from being given back, and fetched again, by calls that take a millisecond
  const double began = cpu();
  double allocated = 0;
  for (double used = 0; used < seconds; used = cpu() - began) {
    for (auto batches = 1 + random() % 64; batches > 0; --batches) {
      for (int i = 0; i < batch; ++i)
        blocks[static_cast<std::size_t>(i)] =
            calloc(1, static_cast<std::size_t>(smallest + i % 7 * smallest * 3 / 10));
      if (!last) last = malloc(40000);
      for (void* block : blocks) free(block);
    }
    const double now = cpu() - began;
    allocated += now - used;
    grind(5 * allocated - now);
  }
  free(last);
}

// A fifth of the time in first touches of pages.
__attribute__((noinline)) void touch_a_fifth(double seconds) {
  constexpr std::size_t page = 4096, bytes = 256 * page;
  for (const double until = cpu() + seconds; cpu() < until;) {
    void* const place = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(place, bytes, MADV_NOHUGEPAGE);
    const double began = cpu();
    for (std::size_t at = 0; at < bytes; at += page) static_cast<volatile char*>(place)[at] = 1;
    const double touched = cpu();
    munmap(place, bytes);
    grind(4 * (touched - began) - (cpu() - touched));
  }
}

// Goes over this memory again and again: the same work, whatever its size. Returns the CPU time of that.
__attribute__((noinline)) double go_over(char* place, std::size_t bytes, double gibibytes) {
  auto* const number = static_cast<double*>(memset(place, 0, bytes));
  const double began = cpu();
  for (double gone = 0; gone < gibibytes * (1 << 30); gone += static_cast<double>(bytes)) {
    for (std::size_t k = 0; k < bytes / sizeof(double); ++k) number[k] = number[k] * 1.5 + 1;
    asm volatile("" ::"r"(place) : "memory");
  }
  return cpu() - began;
}

std::mutex mutex;
std::condition_variable condition;

}  // namespace

int main(int count, char** word) {
  if (count < 4) return 2;
  const std::string part = word[1], system = word[2];
  const int threads = std::atoi(word[3]);
  const double second = count > 4 ? std::atof(word[4]) : 1;
  if ((part == "contended" || part == "memory" || part == "adjacent") && count < 6) return 2;
  const auto parallel = [&](const Body& body) {
    if (system == "openmp") return on_openmp(threads, body);
    if (system == "std") return on_std(threads, body);
    if (system == "tbb") return on_tbb(threads, body);
    on_pthreads(threads, body);
  };
  if (part == "malloc") parallel([&](int) { allocate_a_fifth(second, 20000); });
  if (part == "small") parallel([&](int) { allocate_a_fifth(second, 2000); });
  if (part == "touch") parallel([&](int) { touch_a_fifth(second); });
  if (part == "imbalance") parallel([&](int k) { grind(k == 0 ? second : second / 2); });
  if (part == "inflated")  // the same work costs a quarter more if several threads do it
    parallel([&](int) { grind(second / threads * (threads > 1 ? 1.25 : 1)); });
  if (part == "contended") {  // it costs a quarter more beside others that do it, in this process or another
    const int shared = open(word[5], O_RDWR | O_CREAT, 0600);
    if (shared < 0 || ftruncate(shared, sizeof(int)) != 0) return 1;
    void* const place = mmap(nullptr, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED, shared, 0);
    std::atomic_ref<int> there(*static_cast<int*>(place));
    parallel([&](int) {
      ++there;
      const double slice = second / threads / 100;
      for (int k = 0; k < 100; ++k) grind(there > 1 ? 1.25 * slice : slice);
      --there;
    });
  }
  // 16 GiB are read and written, by each thread its part in memory of its own, of FILE MiB. A processor prefetches what comes next, so
  // that a thread takes lines from another if that thread's memory is next to its own.
  if (part == "memory" || part == "adjacent") {
    const auto bytes = static_cast<std::size_t>(std::atof(word[5]) * (1 << 20));
    const std::size_t apart = bytes + (part == "memory" ? std::size_t{1} << 16 : 0);
    const std::size_t whole = apart * static_cast<std::size_t>(threads);
    void* const place = mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(place, whole, bytes < std::size_t{1} << 21 ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
    std::atomic<double> used{0};
    parallel([&](int k) {
      used += go_over(static_cast<char*>(place) + static_cast<std::size_t>(k) * apart, bytes,
                      16 * second / threads);
    });
    std::printf("%f ", used.load());
  }
  if (part == "slow") parallel([&](int k) { grind(k == threads - 1 ? second : second / 2); });
  if (part == "serial") {
    grind(second);
    parallel([&](int) { grind(second); });
  }
  if (part == "sleep")
    parallel([&](int) {
      grind(second / 2);
      usleep(static_cast<useconds_t>(second / 2 * 1e6));
    });
  if (part == "pause") {  // of the first thread, while the others do not exist or have no work
    parallel([&](int) { grind(second / 2); });
    usleep(static_cast<useconds_t>(second * 1e6));
    parallel([&](int) { grind(second / 2); });
  }
  if (part == "lock") {
    std::atomic<bool> held{false};
    parallel([&](int k) {
      while (k && !held) usleep(100);
      {
        const std::lock_guard mine(mutex);
        held = true;
        if (k == 0) grind(0.6 * second);
      }
      grind(0.4 * second);
    });
  }
  if (part == "shared") {  // a lock that is asked for until a time, in four ways
    using Ask = int (*)(pthread_rwlock_t*, const timespec*);
    static constexpr Ask ways[] = {
        [](auto* lock, auto* until) { return pthread_rwlock_timedrdlock(lock, until); },
        [](auto* lock, auto* until) { return pthread_rwlock_timedwrlock(lock, until); },
        [](auto* lock, auto* until) { return pthread_rwlock_clockrdlock(lock, CLOCK_REALTIME, until); },
        [](auto* lock, auto* until) { return pthread_rwlock_clockwrlock(lock, CLOCK_REALTIME, until); }};
    const timespec until = {time(nullptr) + 60, 0};
    pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
    std::atomic<int> held{0};
    parallel([&](int k) {
      for (int way = 0; way < 4; ++way) {
        while (k && held <= way) usleep(100);
        if (k ? ways[way](&lock, &until) : pthread_rwlock_wrlock(&lock)) std::exit(4);
        if (!k) held = way + 1;
        if (!k) grind(0.15 * second);
        pthread_rwlock_unlock(&lock);
        grind(0.1 * second);
      }
    });
  }
  if (part == "short")
    for (int i = 0; i < 1000 / threads; ++i) {
      std::vector<std::thread> made;
      for (int k = 0; k < threads; ++k) made.emplace_back([&] { grind(second / 1000); });
      for (auto& one : made) one.join();
    }
  if (part == "many")
    for (int i = 0; i < 10000; ++i) std::thread([] {}).join();
  if (part == "condition") {
    bool ready = false;
    parallel([&](int k) {
      if (k == 0) {
        grind(second);
        const std::lock_guard held(mutex);
        ready = true;
        condition.notify_all();
      } else {
        std::unique_lock held(mutex);
        condition.wait(held, [&] { return ready; });
        held.unlock();
      }
    });
  }
  if (part == "event") {  // that nobody computes for
    bool ready = false;
    parallel([&](int k) {
      grind(second / 2);
      std::unique_lock held(mutex);
      if (k == 0) {
        held.unlock();
        usleep(static_cast<useconds_t>(second / 2 * 1e6));
        held.lock();
        ready = true;
        condition.notify_all();
      } else {
        condition.wait(held, [&] { return ready; });
      }
    });
  }
  if (part == "pool") {  // of workers that wait for what the first thread merges
    int merged = 0;
    parallel([&](int k) {
      for (int round = 1; round <= 5; ++round) {
        if (k == 0) grind(second / 5);
        {
          std::unique_lock held(mutex);
          if (k == 0) merged = round;
          condition.notify_all();
          condition.wait(held, [&] { return merged >= round; });
        }
        grind(second / 5);
      }
    });
  }
  if (part == "spin") {
    pthread_spinlock_t lock;
    pthread_spin_init(&lock, 0);
    std::atomic<int> in{0};
    parallel([&](int k) {
      if (k == 0) {
        pthread_spin_lock(&lock);
        in = 1;
        grind(second);
        pthread_spin_unlock(&lock);
      } else {
        while (!in) usleep(100);
        pthread_spin_lock(&lock);
        pthread_spin_unlock(&lock);
      }
    });
  }
  if (part == "yield") {
    std::atomic<bool> done{false};
    parallel([&](int k) {
      if (k == 0) {
        grind(second);
        done = true;
      } else {
        while (!done) sched_yield();
      }
    });
  }
  if (part == "meet") {
#pragma omp parallel num_threads(threads)
    {
      if (omp_get_thread_num() == 0) grind(second);
#pragma omp barrier
    }
  }
  if (part == "tasks") {  // of which most are run while their threads wait
#pragma omp parallel num_threads(threads)
#pragma omp single
    for (int i = 0; i < 50 * threads; ++i) {
#pragma omp task
      grind(second / 50);
    }
  }
  if (part == "regions")
    for (int i = 0; i < 5000; ++i) parallel([&](int) { grind(second / 5000); });
  // Fixed work at the rates that the profiler's cost is promised for: 4 million allocations, 1 million locks and 10,000
  // regions a second.
  if (part == "allocations")
    parallel([&](int) {
      for (int i = 0; i < static_cast<int>(4e6 * second); i += 4000) {
        for (int k = 0; k < 4000; ++k) {
          void* volatile block = malloc(static_cast<std::size_t>(16 + k % 7 * 40));
          free(block);
        }
        grind(0.0009);
      }
    });
  if (part == "locks")
    parallel([&](int) {
      std::mutex own;
      for (int i = 0; i < static_cast<int>(1e6 * second); i += 1000) {
        for (int k = 0; k < 1000; ++k) const std::lock_guard held(own);
        grind(0.0009);
      }
    });
  if (part == "forks")
    for (int i = 0; i < static_cast<int>(1e4 * second); ++i) parallel([&](int) { grind(0.00008); });
  if (part == "altstack") {  // of a guarded signal stack, as small as Rust makes it
    char* const place =
        static_cast<char*>(mmap(nullptr, 3 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(place + 4096, 2 * 4096, PROT_READ | PROT_WRITE);
    const stack_t stack{place + 4096, 0, 2 * 4096};
    sigaltstack(&stack, nullptr);
    grind(second);
  }
  if (part == "addresses")  // within a page: where blocks lie on cache lines
    for (const std::size_t size : {8, 24, 48, 64, 500, 4096, 100'000, 48})
      std::printf("%zu ", reinterpret_cast<std::uintptr_t>(malloc(size)) % 4096);
  if (part == "exit") {
    grind(second);
    _exit(0);
  }
  if (part == "kill") {
    grind(second);
    raise(SIGKILL);
  }
  if (part == "abandon") {  // threads that live when the program ends
    static std::atomic<bool> ground{false};
    std::thread([&] {
      grind(second);
      ground = true;
      pause();
    }).detach();
    grind(second);
    while (!ground) usleep(1000);
  }
  if (part == "fork") {
    const pid_t child = fork();
    if (child == 0) {
      parallel([&](int) { grind(second); });
      _exit(0);
    }
    grind(second / 10);
    waitpid(child, nullptr, 0);
  }
  std::puts("done");
}
