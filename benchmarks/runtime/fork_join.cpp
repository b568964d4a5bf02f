// SPDX-License-Identifier: Apache-2.0 (more than 300 lines: a row for each threading system, timed by one loop)
// What a fork-join of two threads costs, of every threading system.
// The bare two-line spin, which is the least that two cores can do, is measured beside them.
// So is a bare futex, which is the least that waking a thread takes.
// Randomised blocks; ratios are taken within a block.
#include <dlfcn.h>
#include <linux/futex.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "corescale/machine/cache_line.hpp"
#include "corescale/machine/clock.hpp"
#include "corescale/machine/cpu_pause.hpp"
#include "corescale/machine/topology.hpp"
#include "corescale/parallel_for/parallel_for.hpp"
#include "corescale/team/any_team.hpp"

namespace {

using corescale::now_ns;

// Keeps the worker from being optimised away, and is what it does: nothing.
void nothing(std::size_t) { asm volatile(""); }

/// What two lines in motion cost: one thread spins on a line, answers on another; no sleep, no stop rule, no error path.
/// The yardstick does not pause between looks; with pauses the line stays longer with the thread that is about to write it.
template <bool pauses>
class bare_spin {
 public:
  bare_spin() : other_([this] { answer(); }) {}
  ~bare_spin() {
    go_.store(-1, std::memory_order_release);
    other_.join();
  }
  bare_spin(const bare_spin&) = delete;
  bare_spin& operator=(const bare_spin&) = delete;

  void work() {
    go_.store(++round_, std::memory_order_release);
    nothing(0);
    while (done_.load(std::memory_order_acquire) != round_) between_looks();
  }

 private:
  static void between_looks() {
    if constexpr (pauses) corescale::cpu_pause();
  }

  void answer() {
    for (long round = 1;; ++round) {
      long seen = 0;
      for (; (seen = go_.load(std::memory_order_acquire)) != round; between_looks())
        if (seen < 0) return;
      nothing(1);
      done_.store(round, std::memory_order_release);
    }
  }

  alignas(corescale::cache_line) std::atomic<long> go_{0};
  alignas(corescale::cache_line) std::atomic<long> done_{0};
  alignas(corescale::cache_line) long round_ = 0;
  std::thread other_;
};

/// What the kernel takes to wake a thread: it sleeps until there is a round, and the master makes one system call for each.
/// The master looks for the answer without sleeping, or sleeps too, as a team does that never spins.
template <bool master_sleeps>
class bare_futex {
 public:
  bare_futex() : other_([this] { answer(); }) {}
  ~bare_futex() {
    tell(go_, end);
    other_.join();
  }
  bare_futex(const bare_futex&) = delete;
  bare_futex& operator=(const bare_futex&) = delete;

  void work() {
    tell(go_, ++round_);
    nothing(0);
    if (!master_sleeps) {
      while (done_.load(std::memory_order_acquire) != round_) corescale::cpu_pause();
    } else {
      await_other_than(done_, round_ - 1);
    }
  }

 private:
  static constexpr std::uint32_t end = ~std::uint32_t{0};

  static void tell(std::atomic<std::uint32_t>& word, std::uint32_t value) {
    word.store(value, std::memory_order_release);
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1);
  }

  static std::uint32_t await_other_than(std::atomic<std::uint32_t>& word, std::uint32_t seen) {
    std::uint32_t now = seen;
    while ((now = word.load(std::memory_order_acquire)) == seen)
      syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, seen, nullptr);
    return now;
  }

  void answer() {
    for (std::uint32_t last = 0; (last = await_other_than(go_, last)) != end;) {
      nothing(1);
      if (master_sleeps) {
        tell(done_, last);
      } else {
        done_.store(last, std::memory_order_release);
      }
    }
  }

  alignas(corescale::cache_line) std::atomic<std::uint32_t> go_{0};
  alignas(corescale::cache_line) std::atomic<std::uint32_t> done_{0};
  alignas(corescale::cache_line) std::uint32_t round_ = 0;
  std::thread other_;
};

struct figures {
  double hot_ns = 0;
  double cold_ns = 0;
  double asleep_ns = 0;
  double burnt_ms = 0;
};

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

struct interval {
  double low, high;
};

/// 95% for the median, from order statistics (sign test): assumes nothing about the distribution.
/// Needs 6 values or more.
interval around_median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t n = values.size();
  double tail = 0;
  double probability = std::pow(0.5, static_cast<double>(n));
  std::size_t rank = 0;
  while (tail + probability <= 0.025) {
    tail += probability;
    ++rank;
    probability *= static_cast<double>(n - rank + 1) / static_cast<double>(rank);
  }
  return rank == 0 ? interval{-INFINITY, INFINITY} : interval{values[rank - 1], values[n - rank]};
}

std::int64_t cpu_ns() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto ns = [](const timeval& t) { return t.tv_sec * 1'000'000'000LL + t.tv_usec * 1'000LL; };
  return ns(used.ru_utime) + ns(used.ru_stime);
}

/// CPU time of the whole machine that was not idle, steal by the hypervisor included.
std::int64_t machine_busy_ns() {
  std::ifstream stat("/proc/stat");
  std::string label;
  std::array<std::int64_t, 8> ticks{};  // user nice system idle iowait irq softirq steal
  stat >> label;
  for (std::int64_t& one : ticks) stat >> one;
  const std::int64_t all = std::accumulate(ticks.begin(), ticks.end(), std::int64_t{0});
  return (all - ticks[3] - ticks[4]) * (1'000'000'000 / sysconf(_SC_CLK_TCK));
}

/// Share of one core that others took since it was made.
class others {
 public:
  double share() const {
    const auto taken = static_cast<double>((machine_busy_ns() - busy_) - (cpu_ns() - own_));
    return std::max(0.0, taken / static_cast<double>(now_ns() - start_));
  }

 private:
  std::int64_t busy_ = machine_busy_ns(), own_ = cpu_ns(), start_ = now_ns();
};

void idle_ms(int ms) { usleep(static_cast<useconds_t>(ms) * 1000); }

/// Until no thread of this process uses a core any more, so that one case does not disturb the next.
void settle() {
  for (int tries = 0; tries < 200; ++tries) {
    const std::int64_t before = cpu_ns();
    idle_ms(5);
    if (cpu_ns() - before < 500'000) return;
  }
}

template <class Work>
double hot_ns(Work work) {
  constexpr std::int64_t enough = 15'000'000;
  for (int warm = 0; warm < 200; ++warm) work();
  long calls = 0;
  const std::int64_t start = now_ns();
  std::int64_t end = start;
  for (; end - start < enough; end = now_ns(), calls += 50)
    for (int call = 0; call < 50; ++call) work();
  return static_cast<double>(end - start) / static_cast<double>(calls);
}

/// The master computes for 1 ms while the others have nothing to do, then forks once.
template <class Work>
double cold_ns(Work work) {
  std::vector<double> calls;
  for (int call = 0; call < 25; ++call) {
    for (const std::int64_t start = now_ns(); now_ns() - start < 1'000'000;) {
    }
    const std::int64_t start = now_ns();
    work();
    calls.push_back(static_cast<double>(now_ns() - start));
  }
  return median(calls);
}

/// The master sleeps for so long that every thread does, then forks once.
template <class Work>
double asleep_ns(Work work) {
  std::vector<double> calls;
  for (int call = 0; call < 15; ++call) {
    idle_ms(10);
    const std::int64_t start = now_ns();
    work();
    calls.push_back(static_cast<double>(now_ns() - start));
  }
  return median(calls);
}

/// CPU time that the process uses in the 100 ms that follow the first 10 ms of idleness.
template <class Work>
double burnt_ms(Work work) {
  for (int call = 0; call < 1000; ++call) work();
  idle_ms(10);
  const std::int64_t before = cpu_ns();
  idle_ms(100);
  return static_cast<double>(cpu_ns() - before) / 1e6;
}

template <class Work>
figures measure(Work work) {
  return {hot_ns(work), cold_ns(work), asleep_ns(work), burnt_ms(work)};
}

template <class Bare>
figures measure_bare() {
  Bare limit;
  return measure([&limit] { limit.work(); });
}

figures measure_system(const corescale::threading_system& system) {
  corescale::any_team threads = system.create(2);
  return measure([&threads] {
    if (threads.work([](std::size_t id) { nothing(id); }) != corescale::outcome::done) std::abort();
  });
}

/// An empty loop over the same two threads, in shares, so that it is forked: what parallel_for adds.
figures measure_loop() {
  corescale::any_team threads = corescale::make_team(2, "spin");
  const corescale::block_policy* const shares = corescale::find_block_policy("static");
  return measure([&threads, shares] { corescale::parallel_for(threads, 0, 2, nothing, {.policy = shares}); });
}

/// The same as the default sees it: after the first calls it is not forked.
figures measure_automatic_loop() {
  corescale::any_team threads = corescale::make_team(2, "spin");
  return measure([&threads] { corescale::parallel_for(threads, 0, 2, nothing); });
}

std::string label(const corescale::threading_system& system) {
  if (system.name != "openmp") return std::string(system.name);
  return dlsym(RTLD_DEFAULT, "kmp_get_blocktime") ? "openmp (libomp)" : "openmp (libgomp)";
}

struct measured_case {
  std::string name;
  std::function<figures()> run;
  std::vector<figures> blocks;
};

std::vector<measured_case> cases(std::span<char*> only) {
  std::vector<measured_case> all{{"bare two-line spin", measure_bare<bare_spin<false>>, {}},
                                 {"the same with pauses", measure_bare<bare_spin<true>>, {}},
                                 {"bare futex", measure_bare<bare_futex<false>>, {}},
                                 {"bare futex, twice", measure_bare<bare_futex<true>>, {}}};
  for (const corescale::threading_system& system : corescale::threading_systems()) {
    if (system.name == "serial") continue;  // holds one thread
    if (!only.empty() && std::ranges::find(only, system.name) == only.end()) continue;
    if (system.is_present()) {
      all.push_back({label(system), [&system] { return measure_system(system); }, {}});
    } else {
      std::printf("absent: %s (package %s)\n", system.name.data(), system.package.data());
    }
  }
  all.push_back({"spin, static loop", measure_loop, {}});
  all.push_back({"spin, auto loop", measure_automatic_loop, {}});
  return all;
}

/// Answers with the share of a core that others took in each block.
std::vector<double> run_blocks(std::vector<measured_case>& all, int blocks) {
  std::vector<double> disturbed;
  std::mt19937 random(20121001);
  for (int block = 0; block < blocks; ++block) {
    std::vector<measured_case*> order;
    for (measured_case& one : all) order.push_back(&one);
    std::ranges::shuffle(order, random);
    const others beside;
    for (measured_case* one : order) {
      settle();
      one->blocks.push_back(one->run());
    }
    disturbed.push_back(beside.share());
  }
  return disturbed;
}

/// The rule, fixed beforehand: a block in which others took more than 5% of a core is flagged.
std::vector<measured_case> without_flagged(std::vector<measured_case> all,
                                           const std::vector<double>& disturbed) {
  for (measured_case& one : all) {
    std::size_t block = 0;
    std::erase_if(one.blocks, [&](const figures&) { return disturbed[block++] > 0.05; });
  }
  return all;
}

std::vector<double> ratios(const measured_case& one, const measured_case& limit, double figures::*figure) {
  std::vector<double> values;
  for (std::size_t block = 0; block < one.blocks.size(); ++block)
    values.push_back(one.blocks[block].*figure / (limit.blocks[block].*figure));
  return values;
}

std::vector<double> column(const measured_case& one, double figures::*figure) {
  std::vector<double> values;
  for (const figures& block : one.blocks) values.push_back(block.*figure);
  return values;
}

void print_row(const measured_case& one, const measured_case& spin, const measured_case& futex) {
  std::printf("%-20s", one.name.c_str());
  for (const auto figure : {&figures::hot_ns, &figures::cold_ns, &figures::asleep_ns}) {
    const std::vector<double> ratio = ratios(one, figure == &figures::asleep_ns ? futex : spin, figure);
    const auto [low, high] = around_median(ratio);
    std::printf(" %8.2f %7.2f [%6.2f, %6.2f]", median(column(one, figure)) / 1e3, median(ratio), low, high);
  }
  std::printf(" %8.1f\n", median(column(one, &figures::burnt_ms)));
}

void print_table(const std::vector<measured_case>& all, const char* which) {
  const std::size_t blocks = all.front().blocks.size();
  std::printf(
      "\n%s: %zu randomised; median, and median ratio [95%% interval] to the bare spin, asleep to the bare "
      "futex\n",
      which, blocks);
  if (blocks == 0) return;
  std::printf("%-20s %34s %34s %34s %8s\n", "", "hot", "after 1 ms idle", "asleep, after 10 ms", "burnt");
  std::printf("%-20s %8s %25s %8s %25s %8s %25s %8s\n", "", "us", "ratio", "us", "ratio", "us", "ratio",
              "ms/100ms");
  const auto futex = std::ranges::find(all, "bare futex", &measured_case::name);
  for (const measured_case& one : all) print_row(one, all.front(), *futex);
}

}  // namespace

int main(int argc, char** argv) {
  const int blocks = argc > 1 ? std::atoi(argv[1]) : 21;
  if (blocks < 1)
    return std::fprintf(stderr, "usage: %s [BLOCKS (6 or more for an interval)] [SYSTEM]...\n", argv[0]), 2;
  if (corescale::usable_cores() < 2)
    std::printf("warning: fewer than 2 cores, so every figure is one of oversubscription\n");
  std::vector<measured_case> all =
      cases(std::span(argv, static_cast<std::size_t>(argc)).subspan(std::min(argc, 2)));
  const std::vector<double> disturbed = run_blocks(all, blocks);
  std::printf("fork-join of 2 threads; %s\n", __VERSION__);
  print_table(all, "all blocks");
  print_table(without_flagged(all, disturbed), "blocks in which others took at most 5% of a core");
}
