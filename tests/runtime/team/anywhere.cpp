// SPDX-License-Identifier: Apache-2.0
// Shares that are run on whichever thread comes first: work_anywhere(), with threads that are held back by a signal's handler.
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <stdexcept>
#include <vector>

#include "corescale/parallel_for/block_policy.hpp"
#include "corescale/parallel_for/parallel_for.hpp"
#include "corescale/team/spin.hpp"

namespace {

using namespace corescale;

void expect(bool good, const char* what) {
  if (good) return;
  std::printf("FAILED: %s\n", what);
  std::fflush(stdout);
  _exit(1);
}

std::atomic<int> held{0};
std::atomic<bool> hold{false};

extern "C" void stay(int) {
  ++held;
  while (hold.load()) usleep(100);
  --held;
}

void handle(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(SIGUSR1, &action, nullptr);
}

/// The threads of a team, by id.
std::vector<pthread_t> threads_of(spin_team& team) {
  std::vector<pthread_t> all(team.num_threads());
  const outcome worked = team.work([&](std::size_t id) { all[id] = pthread_self(); });
  expect(worked == outcome::done, "a round of all threads");
  return all;
}

/// Keeps a thread in a handler while it lives.
class held_back {
 public:
  explicit held_back(pthread_t thread) {
    hold = true;
    pthread_kill(thread, SIGUSR1);
    while (held.load() == 0) usleep(100);
  }
  ~held_back() {
    hold = false;
    while (held.load() != 0) usleep(100);
  }
  held_back(const held_back&) = delete;
  held_back& operator=(const held_back&) = delete;
};

struct share {
  int runs = 0;
  pthread_t by{};
  std::size_t number = 0;
};

std::vector<share> work_anywhere(spin_team& team, std::size_t k) {
  std::vector<share> shares(team.num_threads());
  const outcome worked = team.work_anywhere(k, [&](std::size_t id) {
    ++shares[id].runs;
    shares[id].by = pthread_self();
    shares[id].number = thread_num();
  });
  expect(worked == outcome::done, "a round on any threads");
  for (std::size_t id = 0; id < shares.size(); ++id) {
    expect(shares[id].runs == (id < k ? 1 : 0), "each share runs once");
    expect(id >= k || shares[id].number == id, "thread_num() is the share's number");
  }
  return shares;
}

void a_share_of_a_thread_held_back_is_run_by_the_caller() {
  const auto team = spin_team::create(3);
  const std::vector<pthread_t> threads = threads_of(*team);
  {
    const held_back second(threads[1]);
    for (int round = 0; round < 100; ++round)
      expect(pthread_equal(work_anywhere(*team, 3)[1].by, pthread_self()), "the caller runs what waits");
  }
  bool by_itself = false;
  while (!by_itself) by_itself = pthread_equal(work_anywhere(*team, 3)[1].by, threads[1]);
  expect(threads_of(*team) == threads, "a round of work() has each thread in its place");
}

// Thread 1 of twelve hands the orders on to 9, 10 and 11: the caller does that in its place.
void all_shares_below_a_thread_held_back_are_run() {
  const auto team = spin_team::create(12);
  const std::vector<pthread_t> threads = threads_of(*team);
  bool by_themselves = false;
  {
    const held_back second(threads[1]);
    for (int round = 0; round < 100 || !by_themselves; ++round) {
      const std::vector<share> shares = work_anywhere(*team, 12);
      expect(pthread_equal(shares[1].by, pthread_self()), "the caller runs what waits");
      for (const std::size_t id : {9, 10, 11})
        by_themselves = by_themselves || pthread_equal(shares[id].by, threads[id]);
    }
  }
  expect(threads_of(*team) == threads, "each thread in its place");
}

void an_exception_of_a_share_run_elsewhere_reaches_the_caller() {
  const auto team = spin_team::create(2);
  const std::vector<pthread_t> threads = threads_of(*team);
  const held_back second(threads[1]);
  bool caught = false;
  try {
    static_cast<void>(team->work_anywhere(2, [](std::size_t id) {
      if (id == 1) throw std::runtime_error("of share 1");
    }));
  } catch (const std::runtime_error&) {
    caught = true;
  }
  expect(caught, "what a share throws reaches the caller");
}

void a_loop_ends_while_a_thread_is_held_back() {
  const auto team = spin_team::create(2);
  const std::vector<pthread_t> threads = threads_of(*team);
  const held_back second(threads[1]);
  for (const block_policy& policy : block_policies()) {
    std::vector<int> seen(1000);
    parallel_for(*team, 0, 1000, [&](int i) { ++seen[static_cast<std::size_t>(i)]; },
                 {.block = policy.needs_block ? 7U : 0U, .policy = &policy});
    for (const int one : seen) expect(one == 1, "each iteration runs once");
  }
}

// The threads sleep, so all are late: whoever wakes up has its own share, while the caller is in the first one that it found.
void threads_that_come_late_run_their_shares_while_the_caller_runs_another() {
  const auto team = spin_team::create(8, {.spin_for = std::chrono::nanoseconds(0)});
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> begun{0};
    const outcome worked = team->work_anywhere(8, [&](std::size_t id) {
      if (id == 0) return;
      ++begun;
      for (int ms = 0; begun < 7; ++ms)
        expect(ms < 20'000, "one share at a time on the caller"), usleep(1000);
    });
    expect(worked == outcome::done, "a round on any threads");
  }
}

// Rounds of both kinds. Threads that sleep after each round come late.
void each_share_runs_once_whenever_threads_are_late(double seconds) {
  for (const std::size_t size : {2, 4, 12, 80}) {
    const auto team = spin_team::create(size, {.spin_for = std::chrono::nanoseconds(0)});
    const std::vector<pthread_t> threads = threads_of(*team);
    std::minstd_rand random(11);
    long taken = 0, rounds = 0;
    const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds / 4);
    for (; std::chrono::steady_clock::now() < until || taken == 0; ++rounds) {
      for (const share& one : work_anywhere(*team, 1 + random() % size))
        taken += one.runs && one.number > 0 && pthread_equal(one.by, pthread_self());
      if (random() % 8 == 0) expect(threads_of(*team) == threads, "each thread in its place");
    }
    std::printf("%zu threads: %ld shares of %ld rounds were run by the caller\n", size, taken, rounds);
  }
}

void shares_stay_where_the_program_was_told_of_each_thread() {
  std::vector<pthread_t> threads(4);
  const auto team =
      spin_team::create(4, {.spin_for = std::chrono::nanoseconds(0),
                            .on_thread_start = [&](std::size_t id) { threads[id] = pthread_self(); }});
  for (int round = 0; round < 100; ++round)
    for (const share& one : work_anywhere(*team, 4))
      expect(pthread_equal(one.by, threads[one.number]), "each share has its thread");
}

bool late_shares_can_be_taken() {
#ifdef SYS_membarrier
  constexpr int query = 0, private_expedited = 1 << 3;
  const long commands = syscall(SYS_membarrier, query, 0, 0);
  return commands > 0 && commands & private_expedited;
#else
  return false;
#endif
}

// ThreadSanitizer hands a signal on when the thread calls a function that it knows, which a thread that waits does not.
#ifdef __SANITIZE_THREAD__
constexpr bool can_hold_threads = false;
#else
constexpr bool can_hold_threads = true;
#endif

}  // namespace

int main(int, char** words) {
  shares_stay_where_the_program_was_told_of_each_thread();
  if (!late_shares_can_be_taken()) return std::puts("not decided: the kernel has no membarrier()"), 77;
  if (can_hold_threads) {
    handle(stay);
    a_share_of_a_thread_held_back_is_run_by_the_caller();
    all_shares_below_a_thread_held_back_are_run();
    an_exception_of_a_share_run_elsewhere_reaches_the_caller();
    a_loop_ends_while_a_thread_is_held_back();
  }
  threads_that_come_late_run_their_shares_while_the_caller_runs_another();
  each_share_runs_once_whenever_threads_are_late(words[1] ? std::atof(words[1]) : 1);
}
