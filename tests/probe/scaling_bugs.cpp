// SPDX-License-Identifier: Apache-2.0
// Five published scaling bugs, as small as they can be: scaling_bugs BUG THREADS. docs/results/scaling_bugs.md has the
// threads in which they were reported. Functions are named by what the reports and their fixes name.
#include <malloc.h>
#include <omp.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

constexpr double seconds = 0.6;  // CPU time of each thread, about

inline __attribute__((always_inline)) double cpu() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

inline __attribute__((always_inline)) double work(double length) {
  const double until = cpu() + length;
  double sum = 1;
  do
    for (int i = 0; i < 2000; ++i) {
      sum = sum * 1.0000001 + 1e-9;
      __asm__ volatile("" : "+x"(sum));
    }
  while (cpu() < until);
  return sum;
}

template <class Body>
void on(int threads, Body body) {
  std::vector<std::thread> made;
  for (int k = 1; k < threads; ++k) made.emplace_back(body, k);
  body(0);
  for (auto& one : made) one.join();
}

// Test threads that allocate, and share the C library's one arena.
__attribute__((noinline)) void run_test_case(int count) {
  std::array<void*, 64> kept{};
  for (int i = 0; i < count; ++i) {
    void*& place = kept[static_cast<std::size_t>(i) % kept.size()];
    std::free(place);
    place = std::malloc(2000 + static_cast<std::size_t>(i) % 7 * 500);
  }
  for (void* one : kept) std::free(one);
}

void arenas(int threads) {
  mallopt(M_ARENA_MAX, 1);
  on(threads, [=](int) { run_test_case(6'000'000 / threads); });
}

// Statistics counters next to each other, one for each thread.
std::array<std::atomic<std::uint64_t>, 64> counters;

__attribute__((noinline)) void count_queries(int thread, int count) {
  auto& mine = counters[static_cast<std::size_t>(thread)];
  for (int i = 0; i < count; ++i) mine.fetch_add(1, std::memory_order_relaxed);
}

void statistics(int threads) {
  on(threads, [=](int k) { count_queries(k, 120'000'000 / threads); });
}

// A parallel region for each small sort, in which most threads have nothing to do.
__attribute__((noinline)) void sort_in_parallel(int threads) {
#pragma omp parallel num_threads(threads)
#pragma omp single nowait
  work(0.002);
}

void small_sorts(int threads) {
  for (int i = 0; i < 200; ++i) sort_in_parallel(threads);
}

// A logger that formats while it holds its lock.
std::mutex sink;

__attribute__((noinline)) void log_message(int number) {
  const std::lock_guard lock(sink);
  work(0.0004);
  char line[64];
  std::snprintf(line, sizeof line, "message %d", number);
}

void logging(int threads) {
  on(threads, [=](int) {
    for (int i = 0; i < 1000 / threads; ++i) {
      log_message(i);
      work(0.0001);
    }
  });
}

// Chunks that are loaded in parallel, and merged by one thread.
__attribute__((noinline)) void merge_chunks() { work(seconds); }

void chunks(int threads) {
  on(threads, [=](int) { work(seconds / threads); });
  merge_chunks();
}

}  // namespace

int main(int count, char** given) {
  if (count != 3) return 2;
  const std::string_view bug = given[1];
  const int threads = std::atoi(given[2]);
  if (threads < 1) return 2;
  if (bug == "arenas")
    arenas(threads);
  else if (bug == "statistics")
    statistics(threads);
  else if (bug == "small-sorts")
    small_sorts(threads);
  else if (bug == "logging")
    logging(threads);
  else if (bug == "chunks")
    chunks(threads);
  else
    return 2;
  return 0;
}
