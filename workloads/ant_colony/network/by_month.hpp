// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>

#include "ant_colony/network/colony/object_trail.hpp"
#include "ant_colony/network/year.hpp"
#include "corescale/region.h"
#include "driver/openmp.hpp"

namespace network {

/// The study's program. It takes one month after the other, and splits the iterations statically over the ranks, and in each rank over
/// OpenMP's threads. Each thread keeps its best solution, the master chooses the best of these, and the ranks choose the best of theirs.
/// Rank 0 makes the text of the month's result while the others wait. One rank is the study's baseline; several ranks are its first
/// optimisation.
template <class Heap>
class ByMonth {
 public:
  ByMonth(const Work& work, Look look, const driver::Ranks& ranks)
      : work_(work), look_(look), ranks_(ranks) {}

  void search(std::span<const Month> months, Year& year) const {
    for (const Month& month : months) search(month, year);
  }

 private:
  struct Thread {
    Solution best;
    double busy = 0;
    driver::Account account;
  };

  void search(const Month& month, Year& year) const {
    corescale_region_begin("month");
    MonthTimes& times = year.times[static_cast<std::size_t>(month.number())];
    const double start = now();
    plan(month, start, times, year);
    times.all = now() - start;
    corescale_region_end("month");
  }

  void plan(const Month& month, double start, MonthTimes& times, Year& year) const {
    std::vector<Thread> threads = run(month);
    times.parallel = now() - start;
    await(ranks_, times.waiting);
    const Solution best = merged(threads, times, year);
    if (ranks_.rank() == 0 && best.found()) keep(year, best);
  }

  std::vector<Thread> run(const Month& month) const {
    std::vector<Thread> threads(static_cast<std::size_t>(work_.threads));
    std::exception_ptr fault;
    const auto n = static_cast<std::size_t>(work_.iterations);
    const int first = static_cast<int>(ranks_.first_of(n, ranks_.rank())),
              last = static_cast<int>(ranks_.first_of(n, ranks_.rank() + 1));
#pragma omp parallel num_threads(work_.threads)
    {
      Thread& mine = threads[static_cast<std::size_t>(driver::thread_number())];
      Heap::start();
      const double start = now();
#pragma omp for schedule(static) nowait
      for (int iteration = first; iteration < last; ++iteration) {
        try {
          iterate(month, iteration, mine.best);
        } catch (...) {  // no exception may leave an OpenMP loop
#pragma omp critical
          fault = std::current_exception();
        }
      }
      mine.busy = now() - start;
      mine.account = Heap::stop();
    }
    if (fault) std::rethrow_exception(fault);
    return threads;
  }

  void iterate(const Month& month, int iteration, Solution& best) const {
    corescale_region_begin("iteration");
    Heap::work(true);
    const auto found = network::iterate<ObjectTrail<Heap>>(month, work_.colony, look_, iteration);
    if (found.better_than(best.worth, best.iteration) && !found.choices.empty())
      best = make_solution(*found.month, found.worth, iteration, found.choices);
    Heap::work(false);
    corescale_region_end("iteration");
  }

  /// Finds the best of the threads, then of the ranks. It also frees the other solutions, which takes longer with more threads.
  Solution merged(std::vector<Thread>& threads, MonthTimes& times, Year& year) const {
    const Timed timed("merge", times.merging);
    Solution best = pick(threads, times, year);
    threads.clear();
    merge(ranks_, work_.iterations, {&best, 1}, year);
    return best;
  }

  static Solution pick(std::vector<Thread>& threads, MonthTimes& times, Year& year) {
    Solution best;
    for (Thread& one : threads) {
      if (std::pair(one.best.worth, one.best.iteration) < std::pair(best.worth, best.iteration))
        best = std::move(one.best);
      times.busy += one.busy;
      times.busiest = std::max(times.busiest, one.busy);
      year.account += one.account;
    }
    return best;
  }

  Work work_;
  Look look_;
  const driver::Ranks& ranks_;
};

}  // namespace network
