// SPDX-License-Identifier: Apache-2.0
// Loops whose cores other threads want: after a region of libgomp, whose thread still spins; and from two threads at once.
// bench_shared_cores [SECONDS for each loop]. Ways take turns. Printed are medians, with the 10% and 90% quantiles.
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "corescale/machine/clock.hpp"
#include "corescale/parallel_for/parallel_for.hpp"
#include "corescale/team/spin.hpp"

namespace {

struct loop {
  std::size_t n;
  int steps;
};
constexpr std::array<loop, 4> loops{loop{64, 50}, loop{256, 120}, loop{256, 400}, loop{256, 1200}};

[[gnu::noinline]] void iteration(std::size_t i, int steps) {
  double x = static_cast<double>(i) + 1;
  for (int step = 0; step < steps; ++step) x = x * 0.999 + 1.0 / x;
  asm volatile("" : : "r"(&x) : "memory");  // x is needed
}

void run_serially(const loop& one) {
  for (std::size_t i = 0; i < one.n; ++i) iteration(i, one.steps);
}

template <class Run>
double us(Run run) {
  const auto start = corescale::now_ns();
  run();
  return static_cast<double>(corescale::now_ns() - start) / 1e3;
}

double quantile(std::vector<double> values, double share) {
  const auto rank = static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::ranges::nth_element(values, values.begin() + rank);
  return values[static_cast<std::size_t>(rank)];
}

void print(const char* way, const std::vector<double>& times, double serial) {
  std::printf("  %s %.2f [%.2f, %.2f]", way, quantile(times, 0.5) / serial, quantile(times, 0.1) / serial,
              quantile(times, 0.9) / serial);
}

using region = void (*)(void (*)(void*), void*, unsigned, unsigned);

region openmp_region() {
  void* const library = dlopen("libgomp.so.1", RTLD_NOW);
  return library ? reinterpret_cast<region>(dlsym(library, "GOMP_parallel")) : nullptr;
}

/// A loop by libgomp itself, as its `static` divides it.
struct halves {
  const loop& of;
  std::atomic<std::size_t> next{0};
  static void run_next(void* what) {
    halves& all = *static_cast<halves*>(what);
    const std::size_t half = all.next++;
    for (std::size_t i = half * all.of.n / 2; i < (half + 1) * all.of.n / 2; ++i) iteration(i, all.of.steps);
  }
};

void after_openmp(double seconds) {
  const region openmp = openmp_region();
  const auto team = corescale::spin_team::create(2);
  if (!openmp || !team) return;
  std::puts("After a region of libgomp, time over serial:");
  for (const loop& one : loops) {
    const auto by = [&](const char* name) {
      return [&, policy = corescale::find_block_policy(name)] {
        corescale::parallel_for(*team, std::size_t{0}, one.n, [&](std::size_t i) { iteration(i, one.steps); },
                                {.policy = policy});
      };
    };
    const auto by_openmp = [&] {
      halves all{one};
      openmp(halves::run_next, &all, 2, 0);
    };
    const auto by_static = by("static"), by_auto = by("auto");
    std::array<std::vector<double>, 4> times;
    const auto after_a_region = [&](std::vector<double>& to, auto run) {
      openmp([](void*) {}, nullptr, 2, 0);
      to.push_back(us(run));
    };
    for (const auto end = corescale::now_ns() + static_cast<std::int64_t>(seconds * 1e9);
         corescale::now_ns() < end;) {
      after_a_region(times[0], [&] { run_serially(one); });
      after_a_region(times[1], by_openmp);
      after_a_region(times[2], by_static);
      after_a_region(times[3], by_auto);
    }
    const double serial = quantile(times[0], 0.5);
    std::printf("%6.0f us:", serial);
    print("libgomp", times[1], serial);
    print("static", times[2], serial);
    print("auto", times[3], serial);
    std::puts("");
  }
}

/// Two threads loop at once, by themselves and on the default team, twenty calls of each in turn.
void two_masters(double seconds) {
  std::puts("Two threads that loop at once on the default team, time over that of both alone:");
  for (const loop& one : loops) {
    constexpr int calls = 20;
    std::array<std::vector<double>, 2> alone, together;
    std::barrier meet(2);
    std::atomic<bool> over{false};
    const auto master = [&](std::size_t who) {
      const auto end = corescale::now_ns() + static_cast<std::int64_t>(seconds * 1e9);
      for (int turn = 0; turn < 6 || !over; ++turn) {
        meet.arrive_and_wait();
        alone[who].push_back(us([&] {
          for (int call = 0; call < calls; ++call) run_serially(one);
        }));
        meet.arrive_and_wait();
        together[who].push_back(us([&] {
          for (int call = 0; call < calls; ++call)
            corescale::parallel_for(std::size_t{0}, one.n, [&](std::size_t i) { iteration(i, one.steps); });
        }));
        if (who == 0) over = corescale::now_ns() > end;
        meet.arrive_and_wait();
      }
    };
    std::thread other(master, 1);
    master(0);
    other.join();
    std::printf("%6.0f us:", quantile(alone[0], 0.5) / calls);
    for (std::size_t who = 0; who < 2; ++who) print("", together[who], quantile(alone[who], 0.5));
    std::puts("");
  }
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::strtod(argv[1], nullptr) : 3;
  after_openmp(seconds);
  two_masters(seconds);
}
