// SPDX-License-Identifier: Apache-2.0 (more than 300 lines: one program, a function for each case)
// What needs a process of its own, and showed a fault once: a case is named on the command line, and ends with 0 if all is well.
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "corescale/parallel_for/parallel_for.hpp"
#include "corescale/team/any_team.hpp"

namespace {

std::atomic<long> news_left{-1};  // below 0: no limit
std::atomic<bool> no_threads{false};
thread_local bool no_memory = false;

void* limited(std::size_t size) {
  if (no_memory || (news_left >= 0 && news_left-- == 0)) throw std::bad_alloc();
  if (void* const memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t size) { return limited(size); }
// Not inlined: g++ 12 at -O1 then takes free() for the wrong end of what operator new gave.
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*),
                              void* what) {
  using function = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto real = reinterpret_cast<function>(dlsym(RTLD_NEXT, "pthread_create"));
  return no_threads ? EAGAIN : real(thread, attributes, run, what);
}

namespace {

using namespace corescale;

bool good = true;

void expect(bool right, const char* what) {
  if (!right) std::printf("wrong: %s\n", what);
  good = good && right;
}

double heavy() {
  volatile double x = 1;
  for (int k = 0; k < 20'000; ++k) x = x * 1.0000001;
  return x;
}

cpu_set_t mask() {
  cpu_set_t now;
  sched_getaffinity(0, sizeof now, &now);
  return now;
}

/// Of so many loops of some 10 ms, those of which another thread than the caller ran a part.
template <class Loop>
int shared_loops(int loops, Loop loop) {
  const auto caller = std::this_thread::get_id();
  int shared = 0;
  for (int call = 0; call < loops; ++call) {
    std::atomic<bool> other{false};
    // A name that no loop has had: its first call is always divided, however busy the machine is.
    static int names = 0;
    const std::string name = "loop " + std::to_string(++names);
    loop_options options{.name = name.c_str()};
    loop(options, [&](std::size_t) {
      heavy();
      if (std::this_thread::get_id() != caller) other = true;
    });
    shared += other;
  }
  return shared;
}

void wrapped(std::size_t n, const std::function<void(std::size_t)>& body) {
  parallel_for(std::size_t{0}, n, body);
}

void expensive_in_its_second_half() {
  std::atomic<bool> other{false};
  const auto caller = std::this_thread::get_id();
  for (int call = 0; call < 40; ++call)
    wrapped(100'000, [&](std::size_t i) {
      if (call < 39 || i < 50'000 || i % 100 > 0) return;
      heavy();
      if (std::this_thread::get_id() != caller) other = true;
    });
  expect(other, "a loop whose second half is expensive for once is divided");
}

void first_loop_on_a_pinned_thread() {
  const cpu_set_t all = mask();
  cpu_set_t one;
  CPU_ZERO(&one);
  for (std::size_t cpu = 0; CPU_COUNT(&one) == 0; ++cpu)
    if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &one);
  sched_setaffinity(0, sizeof one, &one);
  parallel_for(0, 10, [](int) {});
  sched_setaffinity(0, sizeof all, &all);
  std::this_thread::sleep_for(std::chrono::milliseconds(150));
  const auto loop = [](auto& crew) {
    return shared_loops(10, [&](const auto& options, const auto& body) {
      parallel_for(crew, std::size_t{0}, std::size_t{300}, body, options);
    });
  };
  expect(loop(default_team()) >= 8, "later loops of the default team are divided");
  any_team crew = make_team(2);
  expect(loop(crew) >= 8, "so are those of a team that is made later");
}

void a_thread_that_stays_pinned_beside_one_that_is_not() {
  std::thread([] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(sched_getcpu()), &one);
    sched_setaffinity(0, sizeof one, &one);
    expect(default_team().num_threads() == process_cores(), "the default team has a thread for each core");
    std::atomic<int> widest{0};
    static_cast<void>(default_team().work(default_team().num_threads(), [&](std::size_t id) {
      const cpu_set_t own = mask();
      if (id > 0) widest = CPU_COUNT(&own);
    }));
    expect(widest > 1, "its threads are not pinned as the one that made it");
    const cpu_set_t own = mask();
    expect(CPU_COUNT(&own) == 1, "who made it stays pinned");
  }).join();
}

void pinned_teams_that_end_in_the_order_of_their_making() {
  const cpu_set_t all = mask();
  any_team first = make_team(2, "spin", {.pin = true}), second = make_team(2, "spin", {.pin = true});
  expect(usable_cores() == static_cast<std::size_t>(CPU_COUNT(&all)), "a pin is not what the thread may use");
  any_team free = make_team(2);
  std::atomic<int> cpus{0};
  static_cast<void>(free.work([&](std::size_t id) {
    const cpu_set_t own = mask();
    if (id == 1) cpus = CPU_COUNT(&own);
  }));
  expect(cpus == CPU_COUNT(&all), "a team that is not pinned, beside one that is, may use all CPUs");
  first = {};
  second = {};
  const cpu_set_t now = mask();
  expect(CPU_EQUAL(&now, &all), "the thread that made them may use again what it could before");
}

void what_a_worker_starts() {
  for (const char* system : {"spin", "pthread", "ports"}) {
    any_team crew = make_team(2, system);
    int status = -1;
    static_cast<void>(crew.work([&](std::size_t id) {
      if (id == 0) return;
      char name[] = "sleep", seconds[] = "20";
      char* const argv[] = {name, seconds, nullptr};
      pid_t child = 0;
      if (posix_spawnp(&child, name, nullptr, nullptr, argv, environ)) return;
      usleep(50'000);
      kill(child, SIGTERM);
      waitpid(child, &status, 0);
    }));
    expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM,
           "a program that a worker starts ends by SIGTERM");
  }
}

void no_thread_at_the_first_loop() {
  no_threads = true;
  std::atomic<int> run{0};
  parallel_for(0, 10, [&](int) { ++run; });
  expect(run == 10, "the loop runs alone");
  no_threads = false;
  for (int call = 0; call < 100; ++call) parallel_for(0, 10, [](int) {});
  expect(default_team().num_threads() == process_cores(), "later there is a team");
}

// Each request for memory of a first loop fails once, in a child each, up to the first that makes no more.
void no_memory_at_the_first_loop() {
  constexpr int no_more = 3;
  int status = 0;
  for (long request = 0; status == 0; ++request) {
    const pid_t child = fork();
    if (child == 0) {
      news_left = request;
      std::atomic<long> sum{0};
      parallel_for(0, 1000, [&](int i) { sum += i; });
      const bool reached = news_left < 0;
      news_left = -1;
      for (int call = 0; call < 100; ++call) parallel_for(0, 10, [](int) {});
      const bool right = sum == 499'500 && default_team().num_threads() == process_cores();
      _exit(!right ? 1 : reached ? 0 : no_more);
    }
    waitpid(child, &status, 0);
    if (status != 0) std::printf("request %ld: status %d\n", request, status);
  }
  expect(WIFEXITED(status) && WEXITSTATUS(status) == no_more, "the loop runs, and later there is a team");
}

void no_memory_at_another_threads_first_loop() {
  parallel_for(0, 1000, [](int) {});
  std::atomic<int> run{0};
  std::thread([&] {
    no_memory = true;
    parallel_for(0, 1000, [&](int) { ++run; }, {.policy = find_block_policy("static")});
    no_memory = false;
  }).join();
  expect(run == 1000, "the loop runs");
}

struct node {
  node* child[2]{};
};

std::uintptr_t stack_at_the_end = 0;

void walk(const node* at, std::atomic<int>& seen) {
  ++seen;
  stack_at_the_end = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  parallel_for(0, 2, [&](int i) {
    if (at->child[i]) walk(at->child[i], seen);
  });
}

void deep_loops_in_loops() {
  constexpr int depth = 2000;
  std::vector<node> nodes(depth);
  for (int i = 1; i < depth; ++i)
    nodes[static_cast<std::size_t>(i - 1)].child[i % 2] = &nodes[static_cast<std::size_t>(i)];
  std::atomic<int> seen{0};
  // Each level runs on the thread that the level above ran on: here, as there is one thread.
  expect(default_team().restart(1), "the team has one thread");
  walk(nodes.data(), seen);
  expect(seen == depth, "each node is seen once");
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  const std::uintptr_t bytes = (here - stack_at_the_end) / depth;
  std::printf("%zu bytes of stack a loop in a loop\n", static_cast<std::size_t>(bytes));
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  expect(bytes < 2048, "a loop in a loop needs less than 2 KB of stack");
#endif
  seen = 0;
  expect(default_team().restart(), "as before");
  walk(nodes.data(), seen);
  expect(seen == depth, "each node is seen once, where a team takes the outermost loop");
}

any_team static_team;

// Not `tbb`: if one of its threads calls exit(), oneTBB ends the process by a signal, also where nothing of ours is in it.
bool can_exit_in_a_worker(const threading_system& system) {
#ifdef __SANITIZE_THREAD__
  if (system.name == "openmp") return false;  // g++'s ThreadSanitizer does not see into libgomp
#endif
  return system.is_present() && system.name != "serial" && system.name != "tbb";
}

void exit_in_a_worker() {
  for (const threading_system& system : threading_systems()) {
    if (!can_exit_in_a_worker(system)) continue;
    const pid_t child = fork();
    if (child == 0) {
      static_team = system.create(2);
      static_cast<void>(static_team.work([](std::size_t id) {
        if (id == 1) std::exit(3);
        for (;;) pause();
      }));
      _exit(1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 3 << 8) std::printf("%s: status %x\n", system.name.data(), static_cast<unsigned>(status));
    expect(WIFEXITED(status) && WEXITSTATUS(status) == 3, "a worker that calls exit() ends the process");
  }
}

void a_second_thread_while_the_first_lives() {
  parallel_for(0, 10, [](int) {});
  std::thread([] {
    expect(shared_loops(10,
                        [](const auto& options, const auto& body) {
                          parallel_for(std::size_t{0}, std::size_t{300}, body, options);
                        }) >= 8,
           "its loops are divided too");
  }).join();
}

// Iterations sleep, so that it does not matter how busy the cores are.
void a_loop_that_begins_during_another_threads_loop() {
  std::atomic<bool> begun{false}, released{false}, ended{false};
  std::thread first([&] {
    parallel_for(0, 2, [&](int) {
      begun = true;
      while (!released) usleep(1000);
    });
    ended = true;
  });
  while (!begun) usleep(1000);
  std::atomic<int> others{0}, run{0};
  const auto caller = std::this_thread::get_id();
  parallel_for(0, 60, [&](int) {
    ++run;
    released = true;
    while (!ended) usleep(1000);
    usleep(3000);
    others += std::this_thread::get_id() != caller;
  });
  first.join();
  expect(run == 60, "each iteration runs once");
  expect(others > 0, "what is left is divided once the other loop has ended");
}

const loop_options one_share_each{.policy = find_block_policy("static")};

/// Iterations that wait, for a while, until another thread runs one too.
bool two_threads_run_a_loop() {
  std::atomic<int> threads{0};
  const auto body = [&](int) {
    thread_local const std::atomic<int>* seen = nullptr;
    if (std::exchange(seen, &threads) != &threads) ++threads;
    for (int ms = 0; threads < 2 && ms < 5000; ++ms) usleep(1000);
    seen = nullptr;
  };
  parallel_for(0, 2, body, one_share_each);
  return threads == 2;
}

void loops_while_another_caller_has_a_core() {
  expect(default_team().restart(2), "the team has two threads");
  std::atomic<bool> taken{false}, alone{false}, released{false};
  std::thread other([&] {
    while (!taken) usleep(1000);
    parallel_for(0, 10, [&](int) {
      alone = true;
      while (!released) usleep(1000);
    });
  });
  parallel_for(
      0, 2,
      [&](int) {
        taken = true;
        while (!alone) usleep(1000);
      },
      one_share_each);
  const auto caller = std::this_thread::get_id();
  std::atomic<int> others{0};
  parallel_for(
      0, 2,
      [&](int) {
        usleep(20'000);  // time for a worker to begin
        others += std::this_thread::get_id() != caller;
      },
      one_share_each);
  expect(others == 0, "a caller whose loop runs alone has the second core");
  released = true;
  other.join();
  expect(two_threads_run_a_loop(), "once its loop has ended, loops are divided");
  expect(default_team().restart(), "the team ends");
}

bool is_refused() {
  return default_team().work(1, [](std::size_t) {}) == outcome::nested;
}

void loops_in_a_loop_that_leaves_threads_idle() {
  expect(default_team().restart(4), "the team has four threads");
  std::atomic<int> shared{0}, refused{0};
  for (int call = 0; call < 3; ++call) {
    const outcome worked = default_team().work(2, [&](std::size_t) {
      shared += default_team().num_threads() == 2 && two_threads_run_a_loop();
      parallel_for(
          0, 2, [&](int) { refused += is_refused(); }, one_share_each);
    });
    expect(worked == outcome::done, "the outer round");
  }
  expect(shared == 6, "each of two threads has one of the other two for its loops");
  expect(refused == 12, "loops further inside have none");
  refused = 0;
  expect(
      default_team().work(4, [&](std::size_t) { refused += is_refused(); }) == outcome::done && refused == 4,
      "nor have those of four");
  expect(default_team().restart(), "all of them end");
}

// Its alarm ends a process that does not end by itself, as one with the thread that ThreadSanitizer adds never does.
void pthread_exit_in_main() {
#ifdef __SANITIZE_THREAD__
  std::_Exit(77);
#endif
  parallel_for(0, 10, [](int) {});
  std::thread([] {
    usleep(50'000);
    parallel_for(0, 10, [](int) {});
  }).detach();
  pthread_exit(nullptr);
}

void pthread_exit_in_main_that_never_looped() {
#ifdef __SANITIZE_THREAD__
  std::_Exit(77);
#endif
  std::thread([] { parallel_for(0, 10, [](int) {}); }).join();
  pthread_exit(nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, void (*)()> cases{
      {"second_half", expensive_in_its_second_half},
      {"pinned_first", first_loop_on_a_pinned_thread},
      {"pinned_now", a_thread_that_stays_pinned_beside_one_that_is_not},
      {"pinned_teams", pinned_teams_that_end_in_the_order_of_their_making},
      {"signals", what_a_worker_starts},
      {"no_threads", no_thread_at_the_first_loop},
      {"no_memory", no_memory_at_the_first_loop},
      {"no_memory_elsewhere", no_memory_at_another_threads_first_loop},
      {"deep", deep_loops_in_loops},
      {"exit", exit_in_a_worker},
      {"second_thread", a_second_thread_while_the_first_lives},
      {"two_threads", a_loop_that_begins_during_another_threads_loop},
      {"one_core", loops_while_another_caller_has_a_core},
      {"exit_of_main", pthread_exit_in_main},
      {"exit_of_idle_main", pthread_exit_in_main_that_never_looped},
      {"nested", loops_in_a_loop_that_leaves_threads_idle},
  };
  const auto one = cases.find(argc > 1 ? argv[1] : "");
  if (one == cases.end()) return std::puts("which case?"), 2;
  if (usable_cores() < 2) return std::puts("not decided: needs two cores"), 77;
  alarm(100);
  one->second();
  return good ? 0 : 1;
}
