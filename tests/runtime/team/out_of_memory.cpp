// SPDX-License-Identifier: Apache-2.0
// Memory that runs out in the middle of create() or work(): create() gives no team and leaves no thread behind, work() says what became of it.
// A process of its own, as it replaces operator new.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <thread>

#include "corescale/team/process_team.hpp"
#include "systems_under_test.hpp"

namespace {

std::atomic<long> requests_left{-1};  // negative: no limit
bool once = false;                    // whether only one request is refused, and not each later one, too

bool is_refused() { return requests_left >= 0 && requests_left.fetch_sub(1) <= 0; }

}  // namespace

void* operator new(std::size_t bytes) {
  if (is_refused()) {
    if (!once) requests_left = 0;
    throw std::bad_alloc();
  }
  if (void* const memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace {

using corescale::any_team;
using corescale::outcome;
using corescale::threading_system;

constexpr long most_requests =
    1000;  // of any system that makes a team of three; then the test itself is wrong

template <class Call>
auto with_memory_for(long requests, Call call) {
  requests_left = requests;
  auto result = call();
  requests_left = -1;
  return result;
}

std::ptrdiff_t threads_alive() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"),
                       std::filesystem::directory_iterator());
}

// A thread that was joined may still be listed for a moment.
bool threads_settle_at(std::ptrdiff_t expected) {
  for (int tries = 0; threads_alive() > expected && tries < 200; ++tries) usleep(5000);
  return threads_alive() <= expected;
}

bool create_is_good(const threading_system& system, std::size_t n) {
  if (!system.create(n)) return false;  // what a library keeps for good, it has by now
  const std::ptrdiff_t before = threads_alive();
  long refusals = 0;
  for (long requests = 0; requests < most_requests; ++requests) {
    any_team crew = with_memory_for(requests, [&] { return system.create(n); });
    if (crew) return refusals > 0 && crew.work([](std::size_t) {}) == outcome::done;
    ++refusals;
    if (!threads_settle_at(before)) return false;
  }
  return false;
}

bool work_is_good(const threading_system& system, std::size_t n) {
  any_team crew = system.create(n);
  std::atomic<std::size_t> calls{0};
  for (long requests = 0; requests < 100; ++requests) {
    calls = 0;
    const outcome answer =
        with_memory_for(requests, [&] { return crew.work([&](std::size_t) { ++calls; }); });
    if (answer == outcome::done ? calls != n : answer != outcome::too_few_threads || calls != 0) return false;
  }
  return crew.work([](std::size_t) {}) == outcome::done;
}

/// What a process sees that has made no team yet, if its n-th request for memory alone is refused. oneTBB need not recover from it; that
/// is found out once.
enum sight { good, no_such_request, wrong };
sight after_one_refusal(const threading_system& system, long request) {
  alarm(60);
  once = true;
  requests_left = request;
  static_cast<void>(system.create(2));
  const bool refused = requests_left < 0;
  requests_left = -1;
  if (!refused) return no_such_request;
  if (system.create(2)) return good;
  const auto start = std::chrono::steady_clock::now();
  static_cast<void>(system.create(2));
  return std::chrono::steady_clock::now() - start < std::chrono::seconds(10) ? good : wrong;
}

bool first_use_is_good(const threading_system& system) {
  int seen = good;
  for (long request = 0; seen == good; ++request) {
    const pid_t child = fork();
    if (child == 0) _exit(after_one_refusal(system, request));
    int status = 0;
    waitpid(child, &status, 0);
    seen = WIFEXITED(status) ? WEXITSTATUS(status) : wrong;
    if (seen == wrong) std::printf("%s: request %ld, status %x\n", system.name.data(), request, status);
  }
  return seen == no_such_request;
}

/// A thread that no team knows yet, and a process's team whose master has ended.
bool process_team_is_good() {
  bool refused = false;
  bool made = false;
  std::thread([] { static_cast<void>(corescale::team_create(2, "pthread")); }).join();
  std::thread([&] {
    refused = !with_memory_for(0, [] { return corescale::team_create(2, "pthread"); });
    made = corescale::team_create(2, "pthread") && corescale::team_destroy();
  }).join();
  return refused && made;
}

}  // namespace

int main() {
  int failures = 0;
  for (const threading_system& system : corescale::threading_systems())
    failures += system.name == "tbb" && system.is_present() && !first_use_is_good(system);
  failures += process_team_is_good() ? 0 : (std::puts("process team FAILED"), 1);
  for (const threading_system& system : corescale::threading_systems()) {
    if (!system.is_present() || (corescale::test::thread_sanitizer && system.name == "openmp")) continue;
    const std::size_t n = std::min<std::size_t>(3, corescale::test::largest_team(system));
    const bool created = create_is_good(system, n);
    const bool worked = work_is_good(system, n);
    std::printf("%-8s create %s, work %s\n", system.name.data(), created ? "good" : "FAILED",
                worked ? "good" : "FAILED");
    failures += !created || !worked;
  }
  return failures == 0 ? 0 : 1;
}
