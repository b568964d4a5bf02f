// SPDX-License-Identifier: Apache-2.0
#include "ant_colony/network/by_year.hpp"

#include <atomic>
#include <corescale/parallel_for/parallel_for.hpp>
#include <corescale/team/any_team.hpp>
#include <memory>
#include <mutex>

#include "ant_colony/network/colony/indexed_trail.hpp"
#include "corescale/region.h"
#include "driver/error.hpp"

namespace network {
namespace {

using Best = Found<Colony<IndexedTrail>::Array>;

/// The state of a month while its iterations run, in any order on any thread.
struct Running {
  Running(const Month& of, int iterations) : month(of), left(iterations) {}

  /// Whether this was the last iteration.
  bool ends_with(Best found) {
    if (!found.choices.empty()) {
      const std::scoped_lock lock(mutex);  // some 768 choices are moved
      if (found.better_than(best.worth, best.iteration)) best = std::move(found);
    }
    return left.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }

  const Month& month;
  std::atomic<int> left;
  std::atomic<double> start = 0;
  std::mutex mutex;
  Best best;
  Solution solution;
};

class Search {
 public:
  Search(std::span<const Month> months, const Work& work, const driver::Ranks& ranks, Year& year)
      : work_(work), ranks_(ranks), year_(year) {
    const auto n = static_cast<std::size_t>(work.iterations);
    first_ = static_cast<int>(ranks.first_of(n, ranks.rank()));
    share_ = static_cast<int>(ranks.first_of(n, ranks.rank() + 1)) - first_;
    for (const Month& month : months) months_.push_back(std::make_unique<Running>(month, share_));
  }

  void run() {
    corescale::any_team team = corescale::make_team(static_cast<std::size_t>(work_.threads), "spin");
    if (!team)
      throw driver::Error("ant_colony", "cannot hold " + std::to_string(work_.threads) + " threads",
                          "ask for fewer");
    std::vector<corescale::loop_share> shares(team.num_threads());
    corescale::loop_statistics statistics{shares};
    corescale::loop_options options;
    options.statistics = &statistics;
    options.block = 1;  // an iteration takes milliseconds
    const double start = now();
    corescale::parallel_for(
        team, 0, share_ * static_cast<int>(months_.size()), [this](int task) { iterate(task); }, options);
    year_.parallel_seconds = now() - start;
    for (const auto& share : shares) {
      year_.busy_seconds += share.busy_ns * 1e-9;
      year_.busiest_seconds = std::max(year_.busiest_seconds, share.busy_ns * 1e-9);
    }
    if (ranks_.size() > 1) merge_ranks();
  }

 private:
  void iterate(int task) {
    Running& running = *months_[static_cast<std::size_t>(task / share_)];
    double unset = 0;
    running.start.compare_exchange_strong(unset, now());
    corescale_region_begin("iteration");
    auto found = network::iterate<IndexedTrail>(running.month, work_.colony, {}, first_ + task % share_);
    const bool is_last = running.ends_with(std::move(found));
    corescale_region_end("iteration");
    if (is_last) end(running);
  }

  /// Ends a month on this rank. With several ranks, it is not known yet whose solution is the best.
  void end(Running& running) {
    const Best& best = running.best;
    if (!best.choices.empty())
      running.solution = make_solution(*best.month, best.worth, best.iteration, best.choices);
    if (ranks_.size() == 1 && running.solution.found()) {
      const std::scoped_lock lock(output_);  // so that the time of output can be added up
      keep(year_, running.solution);
    }
    year_.times[static_cast<std::size_t>(running.month.number())].all = now() - running.start;
  }

  void merge_ranks() {
    await(ranks_, year_.wait_seconds);
    std::vector<Solution> solutions;
    for (const auto& one : months_) solutions.push_back(std::move(one->solution));
    {
      const Timed timed("merge", year_.merge_seconds);
      merge(ranks_, work_.iterations, solutions, year_);
    }
    for (const Solution& one : solutions)
      if (ranks_.rank() == 0 && one.found()) keep(year_, one);
  }

  Work work_;
  const driver::Ranks& ranks_;
  Year& year_;
  int first_ = 0, share_ = 0;
  std::vector<std::unique_ptr<Running>> months_;
  std::mutex output_;
};

}  // namespace

void search_by_year(std::span<const Month> months, const Work& work, const driver::Ranks& ranks, Year& year) {
  Search(months, work, ranks, year).run();
}

}  // namespace network
