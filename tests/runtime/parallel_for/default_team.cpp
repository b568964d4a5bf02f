// SPDX-License-Identifier: Apache-2.0
// The process-wide team serves any thread, one at a time. A process of its own, as any loop before would make its thread the first.
#include <atomic>
#include <cstdio>
#include <thread>

#include "corescale/machine/topology.hpp"
#include "corescale/parallel_for/parallel_for.hpp"

namespace {

using namespace corescale;

/// Threads that a loop of the calling thread got.
unsigned threads_of_a_loop() {
  loop_statistics seen;
  parallel_for(0, 1000, [](int) {}, {.block = 10, .statistics = &seen});
  return seen.threads;
}

template <class Question>
unsigned on_a_thread_of_its_own(Question question) {
  unsigned answer = 0;
  std::thread([&] { answer = question(); }).join();
  return answer;
}

unsigned beside_one_that_lives() {
  threads_of_a_loop();
  return on_a_thread_of_its_own(threads_of_a_loop);
}

unsigned inside_a_worker() {
  std::atomic<unsigned> most{0};
  parallel_for(0, 4, [&](int) { most = std::max(most.load(), threads_of_a_loop()); }, {.block = 1});
  return most;
}

unsigned refused_in_a_worker() {
  std::atomic<unsigned> refused{0};
  parallel_for(0, 4, [&](int) { refused += !default_team().restart(1); }, {.block = 1});
  return refused;
}

int failures = 0;

void expect(unsigned seen, unsigned wanted, const char* what) {
  if (seen == wanted) return;
  std::printf("%s: %u threads, not %u\n", what, seen, wanted);
  ++failures;
}

}  // namespace

int main() {
  const auto all = static_cast<unsigned>(usable_cores());
  for (int master = 0; master < 3; ++master)
    expect(on_a_thread_of_its_own(threads_of_a_loop), all, "after the last master's end");
  expect(on_a_thread_of_its_own(beside_one_that_lives), all, "beside a thread that used it and lives");
  expect(threads_of_a_loop(), all, "the main thread, after them");
  expect(inside_a_worker(), 1, "a loop in a loop");

  expect(refused_in_a_worker(), 4, "restart() refused in a worker");
  expect(default_team().restart(3), 1, "restart(3)");
  expect(threads_of_a_loop(), 3, "a loop behind it");
  std::atomic<unsigned> started{0};
  expect(default_team().restart(2, {.pin = true, .on_thread_start = [&](std::size_t) { ++started; }}), 1,
         "pinned");
  expect(started, 2, "told of its threads");
  expect(on_a_thread_of_its_own(threads_of_a_loop), 2, "a loop of another thread");
  expect(default_team().restart(1), 1, "restart(1)");
  expect(threads_of_a_loop(), 1, "a loop behind it");
  expect(default_team().restart(), 1, "restart()");
  expect(threads_of_a_loop(), all, "a loop behind it");
  return failures > 0 ? 1 : 0;
}
