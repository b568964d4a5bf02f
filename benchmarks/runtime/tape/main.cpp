// SPDX-License-Identifier: Apache-2.0
// Every library on every kernel, block by block, in one process: a line of JSON with the ns per operation of
// each measurement, after one for the memory of each. tape.py makes the tables. Answers must agree first.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include "contender.hpp"
#include "memory.hpp"

namespace {

using bench::contender, bench::contenders, bench::task;

constexpr const char* names[] = {
    "gradient", "replayable", "replay", "hessian_vector", "nested_hessian_vector", "replay_hessian_vector"};

contenders present() {
  contenders all;
  bench::add_limit(all);
  bench::add_corescale(all);
#define BENCH_PEER(name) bench::add_##name(all);
  BENCH_PEERS
  return all;
}

bool agree(const std::vector<double>& a, const std::vector<double>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](double x, double y) { return std::abs(x - y) <= 1e-9 * std::max(1.0, std::abs(y)); });
}

/// Each answer beside that of the first one with the same kernel and kind of answer.
bool all_agree(const contenders& all) {
  bool good = true;
  for (const contender& one : all) {
    for (const contender& other : all) {
      if (std::string(other.library) == "limit" || std::string(other.kernel) != one.kernel) continue;
      if (bench::is_second_order(one.what) != bench::is_second_order(other.what)) continue;
      if (std::string(one.library) != "limit" && !agree(one.run(), other.run())) {
        std::fprintf(stderr, "%s and %s differ on %s\n", one.library, other.library, one.kernel);
        good = false;
      }
      break;
    }
  }
  return good;
}

void print_memory(const contenders& all) {
  for (const contender& one : all) {
    const bool records = one.what == task::gradient || one.what == task::replayable;
    if (!records || std::string(one.kernel) != bench::two_body::name || std::string(one.library) == "limit")
      continue;
    std::printf("{\"library\": \"%s\", \"task\": \"%s\", \"bytes\": %.1f}\n", one.library,
                names[static_cast<int>(one.what)], bench::bytes_per_operation(one));
    std::fflush(stdout);  // or the next child would print it again
  }
}

/// Processor time of this thread, which other programs on the machine take least from.
double processor_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

double seconds_of(const contender& one, int repeats) {
  const double start = processor_ns();
  for (int k = 0; k < repeats; ++k) {
    const std::vector<double> answer = one.run();
    asm volatile("" : : "r"(answer.data()) : "memory");
  }
  return (processor_ns() - start) * 1e-9;
}

/// Repetitions: a measurement lasts long enough for the clock, and short enough for a scheduler's slice.
int calibrated(const contender& one) {
  constexpr double wanted = 0.01;
  const double once = std::min({seconds_of(one, 1), seconds_of(one, 1), seconds_of(one, 1)});
  return std::max(1, static_cast<int>(wanted / once));
}

}  // namespace

int main(int argc, char** argv) {
  const int blocks = argc > 1 ? std::atoi(argv[1]) : 15;
  const contenders all = present();
  if (blocks < 1) return 1;
  print_memory(all);
  if (!all_agree(all)) return 1;
  std::vector<int> repeats(all.size());
  std::transform(all.begin(), all.end(), repeats.begin(), calibrated);
  std::vector<std::size_t> order(all.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::mt19937 draw(2012);
  for (int block = 0; block < blocks; ++block) {
    std::shuffle(order.begin(), order.end(), draw);
    for (const std::size_t i : order) {
      const contender& one = all[i];
      seconds_of(one, 1);
      const double ns = seconds_of(one, repeats[i]) * 1e9 / (repeats[i] * one.operations);
      std::printf(
          "{\"block\": %d, \"library\": \"%s\", \"task\": \"%s\", \"kernel\": \"%s\", \"ns\": %.4f}\n", block,
          one.library, names[static_cast<int>(one.what)], one.kernel, ns);
    }
  }
}
