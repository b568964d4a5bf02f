// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <exception>

#include "corescale/region.h"
#include "digital_evolution/world.hpp"
#include "driver/openmp.hpp"

namespace digital_evolution {

struct Outcome {
  Tally tally;
  std::uint64_t state_hash = 0;
  Account account;     ///< account of the updates
  double seconds = 0;  ///< time of the updates
  int threads = 1;
};

/// Runs a world over OpenMP's threads, by the schedule that OMP_SCHEDULE names.
template <class Heap>
class Evolution {
 public:
  explicit Evolution(const Options& options) : world_(options) {}

  /// Everything but the account and the seconds depends only on the options. Rethrows what a cell throws.
  Outcome run() {
    Outcome outcome;
#pragma omp parallel
    {
      settle();
      live(outcome);
      conclude(outcome);
      each([this](std::size_t i) { world_.clear(i); });
    }
    if (fault_) std::rethrow_exception(fault_);
    return outcome;
  }

 private:
  using Clock = std::chrono::steady_clock;

  /// Visits every cell once, over the threads of the region. No thread goes on before all are done.
  template <class Work>
  void each(const Work& work) {
    const auto cells = static_cast<std::ptrdiff_t>(world_.cells());
    Heap::work(true);
#pragma omp for schedule(runtime) nowait
    for (std::ptrdiff_t i = 0; i < cells; ++i) attempt(work, static_cast<std::size_t>(i));
    Heap::work(false);
#pragma omp barrier
  }

  /// No exception may leave an OpenMP loop.
  template <class Work>
  void attempt(const Work& work, std::size_t i) {
    try {
      if (!failed_.load(std::memory_order_relaxed)) work(i);
    } catch (...) {
      fail(std::current_exception());
    }
  }

  /// A page of memory belongs to the NUMA node of the thread that touches it first.
  void settle() {
    const auto make = [this](std::size_t i) { world_.settle(i); };
    if (world_.options().layout != Layout::master) return each(make);
#pragma omp single
    for (std::size_t i = 0; i < world_.cells(); ++i) attempt(make, i);
  }

  void live(Outcome& outcome) {
    start_account();
    const Clock::time_point start = Clock::now();
    corescale_region_begin("evolve");
    for (int update = 0; update < world_.options().generations; ++update) {
      each([this, update](std::size_t i) { world_.act(i, update); });
      if (!world_.is_round(update)) continue;
      each([this, update](std::size_t i) { world_.choose(i, update); });
      each([this](std::size_t i) { world_.commit(i); });
    }
    corescale_region_end("evolve");
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    const Account account = Heap::stop();
#pragma omp critical
    {
      outcome.seconds = std::max(outcome.seconds, seconds);
      outcome.account += account;
      outcome.threads = driver::team_size();
    }
  }

  void start_account() {
    try {
      Heap::start();
    } catch (...) {
      fail(std::current_exception());
    }
  }

  void conclude(Outcome& outcome) {
    Tally tally;
    std::uint64_t hash = 0;
    each([&, updates = world_.options().generations](std::size_t i) {
      tally += world_.tally(i, updates);
      hash += world_.hash(i, updates);
    });
#pragma omp critical
    {
      outcome.tally += tally;
      outcome.state_hash += hash;
    }
#pragma omp barrier
  }

  void fail(std::exception_ptr fault) {
#pragma omp critical
    fault_ = std::move(fault);
    failed_.store(true, std::memory_order_relaxed);
  }

  World<Heap> world_;
  std::atomic<bool> failed_ = false;
  std::exception_ptr fault_;
};

/// What is counted of the allocations. `samples`: how much of the time they take. `owners`: how many there are,
/// of what size, and how many are freed by another thread.
enum class Count { nothing, samples, owners };

inline Outcome evolve(const Options& options, Count count = Count::nothing) {
  if (count == Count::samples) return Evolution<SampledHeap>(options).run();
  if (count == Count::owners) return Evolution<OwnedHeap>(options).run();
  return Evolution<PlainHeap>(options).run();
}

}  // namespace digital_evolution
