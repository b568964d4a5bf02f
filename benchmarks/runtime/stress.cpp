// SPDX-License-Identifier: Apache-2.0 (more than 300 lines: one program, a function for each operation)
// Everything at once, for a while: teams and memory under operations drawn at random.
// Teams of every system are nested, throw, change hands and are forked; memory moves between threads which end.
// Some threads draw from one table of operations until the time is over.
//   stress [SECONDS (default 60)] [SEED]
// Prints how often each was done; exit code 1, and what failed, at the first answer that is wrong.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "corescale/memory/thread_alloc.hpp"
#include "corescale/team/any_team.hpp"
#include "corescale/team/spin.hpp"

namespace {

using namespace corescale;
using random_numbers = std::minstd_rand;

#if defined(__SANITIZE_THREAD__)
constexpr bool thread_sanitizer = true;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
constexpr bool thread_sanitizer = true;
#else
constexpr bool thread_sanitizer = false;
#endif
#else
constexpr bool thread_sanitizer = false;
#endif

// The allocator of GCC 12's AddressSanitizer stays locked in a child that was forked while another thread was in it.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool a_child_may_allocate = false;
#else
constexpr bool a_child_may_allocate = true;
#endif

// Eight threads that each have a team of up to eight: 64 at once, nested and passing ones not counted.
constexpr int drivers = 8;
constexpr std::size_t largest_team = 8;

void expect(bool good, const char* what) {
  if (good) return;
  std::printf("FAILED: %s\n", what);
  std::fflush(stdout);
  _exit(1);
}

std::size_t draw(random_numbers& random, std::size_t below) { return random() % below; }

// --- teams ---

bool is_usable(const threading_system& system) {
  return system.is_present() && !(thread_sanitizer && system.name == "openmp");  // not built for it
}

/// A system, and a size that it holds.
struct choice {
  const threading_system* system;
  std::size_t n;
  any_team make() const {
    any_team made = system->create(n);
    expect(static_cast<bool>(made),
           ("a team of " + std::to_string(n) + " " + std::string(system->name) + " is made").c_str());
    return made;
  }
};

choice choose(random_numbers& random) {
  for (const auto table = threading_systems();;) {
    const threading_system& system = table[draw(random, table.size())];
    if (is_usable(system)) return {&system, system.name == "serial" ? 1 : 1 + draw(random, largest_team)};
  }
}

void work_and_count(any_team& crew, std::size_t k) {
  std::atomic<std::size_t> calls{0};
  expect(crew.work(k, [&](std::size_t id) { calls += id + 1; }) == outcome::done, "work() is done");
  expect(calls == k * (k + 1) / 2, "each id ran once");
}

void rounds(random_numbers& random) {
  any_team crew = choose(random).make();
  for (int round = 0; round < 20; ++round) work_and_count(crew, draw(random, crew.num_threads() + 1));
}

void nested_teams(random_numbers& random) {
  const auto outer = spin_team::create(2);
  const std::array seeds{random(), random()};
  expect(outer->work([&](std::size_t id) {
    random_numbers own(static_cast<unsigned>(seeds[id]));
    rounds(own);
    expect(outer->work([](std::size_t) {}) == outcome::nested, "a nested call is refused");
  }) == outcome::done,
         "the outer team works");
}

void exceptions(random_numbers& random) {
  any_team crew = choose(random).make();
  const std::size_t thrower = draw(random, crew.num_threads());
  for (int round = 0; round < 5; ++round) {
    std::size_t caught = crew.num_threads();
    try {
      static_cast<void>(crew.work([&](std::size_t id) {
        if (id >= thrower) throw id;
      }));
    } catch (std::size_t id) {
      caught = id;
    }
    expect(caught >= thrower && caught < crew.num_threads(), "an exception reaches the caller");
  }
  work_and_count(crew, crew.num_threads());
}

void change_of_hands(random_numbers& random) {
  any_team crew;
  const choice what = choose(random);
  std::thread([&] { crew = what.make(); }).join();  // its master has ended
  expect(crew.work([](std::size_t) {}) == outcome::not_master, "another thread than the master is refused");
  expect(crew.adopt() == outcome::done, "a team whose master ended is adopted");
  work_and_count(crew, crew.num_threads());
  expect(crew.release() == outcome::done, "a master releases its team");
  std::thread([&] {
    expect(crew.adopt() == outcome::done, "a released team is adopted");
    work_and_count(crew, crew.num_threads());
  }).join();
}

bool child_ends_well(auto child) {
  const pid_t id = fork();
  if (id == 0)
    alarm(600), _exit(child() ? 0 : 1);  // of a clock that goes on while the machine is busy with others
  expect(id > 0, "fork() makes a process");
  int status = -1;
  return waitpid(id, &status, 0) == id && status == 0;
}

void forks(random_numbers& random) {
  any_team crew = choose(random).make();
  expect(child_ends_well([&] {
           const bool refused = crew.work([](std::size_t) {}) == outcome::forked;
           if (!a_child_may_allocate) return refused && !in_parallel();
           crew = any_team();
           std::size_t capacity = 0;
           thread_alloc::return_memory(thread_alloc::get_memory(100, capacity));
           return refused && !in_parallel();
         }),
         "a forked child is told so and may use memory");
  work_and_count(crew, crew.num_threads());
}

// --- memory ---

/// Blocks on their way between threads, each marked with its own address. Half of the requests and half of the returns are those of code
/// with checks, and both share the memory.
struct exchange {
  using alloc = thread_alloc;
  using checked_alloc = checked_thread_alloc;
  static inline std::array<std::atomic<void*>, 256> slots{};

  static void* get(random_numbers& random) {
    std::size_t capacity = 0;
    const std::size_t bytes = 1 + draw(random, draw(random, 50) ? 1000 : 100'000);
    void* const memory =
        draw(random, 2) ? checked_alloc::get_memory(bytes, capacity) : alloc::get_memory(bytes, capacity);
    std::memcpy(memory, &memory, sizeof memory);
    return memory;
  }

  static void give_back(void* memory) {
    if (!memory) return;
    void* mark = nullptr;
    std::memcpy(&mark, memory, sizeof mark);
    expect(mark == memory, "a block has its owner's mark");
    static std::atomic<unsigned> returns{0};
    if (returns.fetch_add(1, std::memory_order_relaxed) % 2)
      checked_alloc::return_memory(memory);
    else
      alloc::return_memory(memory);
  }

  static void swap_some(random_numbers& random) {
    for (int step = 0; step < 200; ++step)
      give_back(slots[draw(random, slots.size())].exchange(get(random), std::memory_order_acq_rel));
  }

  static void empty() {
    for (auto& slot : slots) give_back(slot.exchange(nullptr, std::memory_order_acq_rel));
  }
};

void pass_blocks(random_numbers& random) { exchange::swap_some(random); }

/// By the thread itself while others return its blocks, which it may do at any time.
void own_memory_to_the_system(random_numbers& random) {
  using alloc = exchange::alloc;
  for (int round = 0; round < 5; ++round) {
    exchange::swap_some(random);
    expect(alloc::inuse(alloc::thread()) < std::size_t{1} << 40, "bytes in use are no more than there are");
    alloc::free_available(alloc::thread());
  }
}

/// Threads that end with memory of others in their hands, and whose own is still in use.
void thread_that_ends(random_numbers& random) {
  const auto seed = random();
  std::thread([seed] {
    random_numbers own(static_cast<unsigned>(seed));
    exchange::swap_some(own);
  }).join();
}

/// Of a system whose threads end with the team: those of OpenMP and oneTBB end when their library likes,
/// so that no later moment is one at which free_all() may be called.
choice choose_with_own_threads(random_numbers& random) {
  for (;;) {
    const choice drawn = choose(random);
    if (drawn.system->name != "openmp" && drawn.system->name != "tbb") return drawn;
  }
}

void blocks_within_a_team(random_numbers& random) {
  any_team crew = choose_with_own_threads(random).make();
  std::vector<std::atomic<void*>> ring(crew.num_threads());
  const auto seed = random();
  for (int round = 0; round < 5; ++round) {
    expect(crew.work([&](std::size_t id) {
      random_numbers own(static_cast<unsigned>(seed + id));
      exchange::give_back(ring[(id + 1) % ring.size()].exchange(exchange::get(own)));
    }) == outcome::done,
           "a team works with memory");
  }
  for (auto& slot : ring) exchange::give_back(slot.exchange(nullptr));
}

// --- the table ---

struct operation {
  const char* name;
  void (*run)(random_numbers& random);
};

constexpr operation operations[] = {{"rounds of the first k", rounds},
                                    {"nested teams", nested_teams},
                                    {"exceptions", exceptions},
                                    {"change of hands", change_of_hands},
                                    {"fork", forks},
                                    {"pass blocks", pass_blocks},
                                    {"own memory to the system", own_memory_to_the_system},
                                    {"thread ends", thread_that_ends},
                                    {"blocks within a team", blocks_within_a_team}};

std::array<std::atomic<long>, std::size(operations)> done{};

void drive(unsigned seed, std::chrono::steady_clock::time_point end) {
  random_numbers random(seed);
  while (std::chrono::steady_clock::now() < end) {
    const std::size_t drawn = draw(random, std::size(operations));
    operations[drawn].run(random);
    ++done[drawn];
  }
}

void run_for(std::chrono::duration<double> seconds, unsigned seed) {
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::nanoseconds>(seconds);
  std::vector<std::thread> all;
  for (int driver = 0; driver < drivers; ++driver)
    all.emplace_back(drive, seed + static_cast<unsigned>(driver), end);
  for (std::thread& one : all) one.join();
  exchange::empty();
  expect(thread_alloc::free_all(), "nothing is in use at the end");
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 60;
  if (seconds <= 0) return std::fprintf(stderr, "usage: %s [SECONDS] [SEED]\n", argv[0]), 2;
  run_for(std::chrono::duration<double>(seconds),
          argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : std::random_device()());
  long all = 0;
  for (std::size_t i = 0; i < std::size(operations); ++i) {
    std::printf("%-38s %9ld\n", operations[i].name, done[i].load());
    all += done[i];
  }
  std::printf("%-38s %9ld in %.0f s, no error\n", "all", all, seconds);
}
