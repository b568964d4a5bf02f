// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <exception>

#include "corescale/region.h"
#include "digital_evolution/world.hpp"
#include "driver/openmp.hpp"

namespace digital_evolution {

/// What a run came to.
struct Outcome {
  Tally tally;
  std::uint64_t state_hash = 0;
  Account account;     ///< of the updates
  double seconds = 0;  ///< of the updates
  int threads = 1;
};

/// Runs a world over OpenMP's threads, by the schedule that OMP_SCHEDULE names.
template <class Heap>
class Evolution {
 public:
  explicit Evolution(const Options& options) : world_(options) {}

  /// Everything but the account and the seconds depends on the options alone. Rethrows what a cell throws.
  Outcome run() {
    Outcome outcome;
#pragma omp parallel
    {
      each([this](std::size_t i) { world_.settle(i); });
      live(outcome);
      conclude(outcome);
      each([this](std::size_t i) { world_.clear(i); });
    }
    if (fault_) std::rethrow_exception(fault_);
    return outcome;
  }

 private:
  using Clock = std::chrono::steady_clock;

  /// Every cell once, over the threads of the region; nobody goes on before all is done.
  template <class Work>
  void each(const Work& work) {
    const auto cells = static_cast<std::ptrdiff_t>(world_.cells());
    Heap::work(true);
#pragma omp for schedule(runtime) nowait
    for (std::ptrdiff_t i = 0; i < cells; ++i) {
      try {
        if (!failed_.load(std::memory_order_relaxed)) work(static_cast<std::size_t>(i));
      } catch (...) {  // no exception may leave an OpenMP loop
        fail(std::current_exception());
      }
    }
    Heap::work(false);
#pragma omp barrier
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

/// The outcome of `options`, with an account of the allocations where it is asked for.
inline Outcome evolve(const Options& options, bool account) {
  return account ? Evolution<SampledHeap>(options).run() : Evolution<PlainHeap>(options).run();
}

}  // namespace digital_evolution
