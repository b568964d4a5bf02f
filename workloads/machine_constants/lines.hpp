// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <corescale/machine/cache_line.hpp>
#include <corescale/machine/clock.hpp>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

// What cache lines cost on their way between cores.
namespace machine_constants {

/// The result of repeated runs of a measurement.
struct Quantity {
  double value = 0;
  double spread = 0;  ///< range of the middle half of the runs, over the value: 0 if all took the same time

  Quantity scaled(double factor) const { return {value * factor, spread}; }
};

inline double at(std::vector<double>& values, std::size_t rank) {
  const auto place = values.begin() + static_cast<std::ptrdiff_t>(rank);
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

/// The value below which `quarters` quarters of the times are.
inline Quantity quartile(std::vector<double> values, std::size_t quarters) {
  const auto quarter = [&](std::size_t which) { return at(values, values.size() * which / 4); };
  const double value = quarter(quarters), middle_half = quarter(3) - quarter(1);
  return {value, value > 0 ? middle_half / value : 0};
}

/// A typical value of times that other programs only make longer. It is right even if they do so in three quarters of the runs.
inline Quantity typical(std::vector<double> values) { return quartile(std::move(values), 1); }

/// Pins the calling thread; has no effect if that is forbidden.
inline void pin(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

struct alignas(corescale::cache_line) Line {
  std::atomic<std::uint64_t> value{0};
};

/// Nanoseconds of one call of `what`, which does `times` of something.
template <class What>
double ns_of_each(std::uint64_t times, What what) {
  const std::uint64_t start = corescale::ticks();
  what();
  return static_cast<double>(corescale::ticks() - start) * corescale::ns_per_tick() /
         static_cast<double>(times);
}

/// Fetch-and-add on a line that no other core touches: the study's E.
inline Quantity claim_alone() {
  Line line;
  std::vector<double> seen(21);
  for (double& one : seen)
    one = ns_of_each(10'000, [&] {
      for (int k = 0; k < 10'000; ++k) line.value.fetch_add(1, std::memory_order_relaxed);
    });
  return typical(seen);
}

/// Cache lines, each of which contains the position of the next one.
class LineCycle {
 public:
  static constexpr std::uint64_t length = 64;

  // Steps of 37 of 64 visit each line once.
  LineCycle() : lines_(length) {
    for (std::uint64_t k = 0; k < length; ++k) lines_[k].value = (k + 37) % length;
  }

  /// A fetch-and-add on each line, one after the other. It does not change the lower bits, which have the position of the next line.
  void claim() {
    std::uint64_t at = 0;
    for (std::uint64_t k = 0; k < length; ++k)
      at = lines_[at].value.fetch_add(length, std::memory_order_relaxed) % length;
    asm volatile("" : : "r"(at));
  }

  void read() const {
    std::uint64_t at = 0;
    for (std::uint64_t k = 0; k < length; ++k) at = lines_[at].value.load(std::memory_order_relaxed) % length;
    asm volatile("" : : "r"(at));
  }

 private:
  std::vector<Line> lines_;
};

/// Two threads on two CPUs, which meet at `turn` without sleeping.
class Pair {
 public:
  Pair(int here, int there) : here_(here), there_(there) {}

  /// Half of a round trip of one line that each of the two writes in its turn.
  Quantity travel() const {
    return in_turn(
        [](Line& ball, std::uint64_t count) { ball.value.store(count, std::memory_order_release); });
  }

  /// The same for a line that each claims by a fetch-and-add, once it has seen that the other did: the study's L. Both have then read the
  /// line, so in R + E + O the R is that of State::shared.
  Quantity handed() const {
    return in_turn([](Line& ball, std::uint64_t) { ball.value.fetch_add(1, std::memory_order_acq_rel); });
  }

  /// Nanoseconds in which one counter serves a fetch-and-add of either of two threads that do nothing else. Runs in which the other thread
  /// made less than a tenth of the additions do not count, because it was absent; 0 if no run counts. It is the median, because a run in
  /// which the other thread was absent for a part of the time is too short.
  Quantity contended() const {
    constexpr std::uint64_t adds = 20'000;
    Line line, started;
    std::vector<double> seen;
    std::atomic<bool> ended{false};
    beside(
        [&] {
          started.value.store(1, std::memory_order_release);
          while (!ended.load(std::memory_order_relaxed)) line.value.fetch_add(1, std::memory_order_relaxed);
        },
        [&] {
          await(started, 1);
          for (std::uint64_t run = 0; run < runs; ++run) {
            const std::uint64_t before = line.value.load(std::memory_order_relaxed);
            const double each = ns_of_each(adds, [&] {
              for (std::uint64_t k = 0; k < adds; ++k) line.value.fetch_add(1, std::memory_order_relaxed);
            });
            const std::uint64_t made = line.value.load(std::memory_order_relaxed) - before;
            if (10 * (made - adds) >= made)
              seen.push_back(each * static_cast<double>(adds) / static_cast<double>(made));
          }
          ended = true;
        });
    return seen.empty() ? Quantity{} : quartile(seen, 2);
  }

  /// How a line is held before this core claims it.
  enum class State {
    own,       ///< by this core, which wrote it
    modified,  ///< by the other core, which wrote it
    shared,  ///< by both, which read it, this one last: on processors that know an owner of a shared line, the other is it
  };

  /// Fetch-and-add on lines that are held so: the study's R + E. Each claim gives the position of the next. Otherwise a core would ask for
  /// several lines at once, and R would be a tenth of what one claim waits.
  Quantity claim_of(State state) const {
    LineCycle lines;
    Line turn;
    std::vector<double> seen;
    beside(
        [&] {
          for (std::uint64_t run = 0; run < runs; ++run) {
            await(turn, 2 * run);
            if (state == State::modified) lines.claim();
            if (state == State::shared) lines.read();
            turn.value.store(2 * run + 1, std::memory_order_release);
          }
        },
        [&] {
          for (std::uint64_t run = 0; run < runs; ++run) {
            await(turn, 2 * run + 1);
            if (state == State::shared) lines.read();
            seen.push_back(ns_of_each(LineCycle::length, [&] { lines.claim(); }));
            turn.value.store(2 * run + 2, std::memory_order_release);
          }
        });
    return typical(seen);
  }

 private:
  static constexpr std::uint64_t runs = 41;

  static void await(const Line& line, std::uint64_t value) {
    while (line.value.load(std::memory_order_acquire) != value) {
    }
  }

  /// Nanoseconds from one thread's turn to the other's. `count` raises the line's value by one, to the given value.
  template <class Count>
  Quantity in_turn(Count count) const {
    Line ball;
    constexpr std::uint64_t trips = 2000;
    std::vector<double> seen;
    beside(
        [&] {
          for (std::uint64_t run = 0; run < runs; ++run) bat(ball, run * trips, trips, 1, count);
        },
        [&] {
          for (std::uint64_t run = 0; run < runs; ++run)
            seen.push_back(ns_of_each(2 * trips, [&] { bat(ball, run * trips, trips, 0, count); }));
        });
    return typical(seen);
  }

  /// One thread makes the ball odd, the other makes it even again.
  template <class Count>
  static void bat(Line& ball, std::uint64_t first, std::uint64_t trips, std::uint64_t side, Count count) {
    for (std::uint64_t k = first; k < first + trips; ++k) {
      if (side == 0) count(ball, 2 * k + 1);
      await(ball, side == 0 ? 2 * k + 2 : 2 * k + 1);
      if (side == 1) count(ball, 2 * k + 2);
    }
  }

  template <class There, class Here>
  void beside(There there, Here here) const {
    std::thread other([&, cpu = there_] {
      pin(cpu);
      there();
    });
    pin(here_);
    here();
    other.join();
  }

  int here_, there_;
};

}  // namespace machine_constants
