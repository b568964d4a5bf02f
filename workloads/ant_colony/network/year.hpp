// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <deque>
#include <string>
#include <vector>

#include "ant_colony/network/colony/colony.hpp"
#include "ant_colony/network/problem/month.hpp"
#include "ant_colony/network/solution.hpp"
#include "corescale/region.h"
#include "driver/heap.hpp"
#include "driver/ranks.hpp"

namespace network {

/// The options of a search, besides the problem.
struct Work {
  ColonyOptions colony;
  int iterations = 1000;  ///< independent colonies of a month
  int threads = 1;        ///< threads of this rank
};

/// Where the time of a month went, in seconds.
struct MonthTimes {
  double all = 0;       ///< from the first iteration to the result, on the slowest rank
  double parallel = 0;  ///< while iterations ran
  double busiest = 0;   ///< a thread's time in iterations, the largest over threads
  double busy = 0;      ///< the same, added up over threads
  double waiting = 0;   ///< time spent waiting for the slowest rank, the mean over ranks
  double merging =
      0;  ///< time of merging the bests of threads and ranks, with messages, once all ranks have arrived
};

/// The result of a search and its times. Months are in their order; only rank 0 has solutions and texts.
struct Year {
  Year(std::size_t months, int all_threads)
      : worth(months, std::numeric_limits<double>::infinity()),
        cost(worth),
        texts(months),
        times(months),
        threads(all_threads) {}

  std::vector<double> worth, cost;
  std::vector<std::string> texts;
  std::vector<MonthTimes> times;
  double seconds = 0;
  double wait_seconds = 0, merge_seconds = 0, serialise_seconds = 0, output_seconds = 0;
  double parallel_seconds = 0, busy_seconds = 0, busiest_seconds = 0;
  long sends = 0, bytes = 0, most_bytes = 0;
  int threads;  ///< threads of all ranks
  driver::Account account;
};

inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Adds the time until its end to a sum, and reports it as a region.
class Timed {
 public:
  Timed(const char* region, double& sum) : region_(region), sum_(sum), start_(now()) {
    corescale_region_begin(region_);
  }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;
  ~Timed() {
    corescale_region_end(region_);
    sum_ += now() - start_;
  }

 private:
  const char* region_;
  double& sum_;
  double start_;
};

/// Returns when every rank has come here, so that no merge counts the time of a slower rank as its own.
void await(const driver::Ranks& ranks, double& seconds);

/// Finds the winner of each month among the ranks, by worth, then by iteration. If it is not rank 0, it sends its solution there, in one
/// message. Adds to `year` what was sent.
void merge(const driver::Ranks& ranks, int iterations, std::span<Solution> months, Year& year);

/// The result of a month as rank 0 keeps it.
void keep(Year& year, const Solution& solution);

}  // namespace network
