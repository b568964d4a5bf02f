// SPDX-License-Identifier: Apache-2.0
#include "ant_colony/network/report.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "corescale/region.h"
#include "driver/result.hpp"

namespace network {
namespace {

void gather(const driver::Ranks& ranks, driver::Account& account) {
  double sums[] = {static_cast<double>(account.allocations), static_cast<double>(account.at_work),
                   static_cast<double>(account.in_heap)};
  ranks.sum(sums);
  account.allocations = static_cast<std::uint64_t>(sums[0]);
  account.at_work = static_cast<std::uint64_t>(sums[1]);
  account.in_heap = static_cast<std::uint64_t>(sums[2]);
}

double mean(const driver::Ranks& ranks, double value) {
  ranks.sum({&value, 1});
  return value / ranks.size();
}

std::uint64_t hash(const std::vector<std::string>& texts) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const std::string& text : texts)
    for (const unsigned char c : text) hash = (hash ^ c) * 0x100000001b3;
  return hash;
}

void report_months(driver::Result& result, std::span<const Month> months, const Year& year) {
  for (std::size_t m = 0; m < months.size(); ++m) {
    const std::string name = "month_" + std::to_string(m + 1) + "_";
    const MonthTimes& times = year.times[m];
    result.metric(name + "cost", year.cost[m]);
    result.metric(name + "gap", year.worth[m] / months[m].bound() - 1);
    result.metric(name + "seconds", times.all);
    if (times.parallel == 0) continue;  // months overlap
    result.metric(name + "serial_share", 1 - times.parallel / times.all);
    result.metric(name + "cores_busy", times.busy / times.all);
    result.metric(name + "imbalance", times.busiest * year.threads / times.busy - 1);
    result.metric(name + "wait_share", times.waiting / times.all);
    result.metric(name + "merge_share", times.merging / times.all);
  }
}

}  // namespace

void gather(const driver::Ranks& ranks, Year& year) {
  year.parallel_seconds = ranks.largest(year.parallel_seconds);  // of a search whose months overlap
  year.busiest_seconds = ranks.largest(year.busiest_seconds);
  ranks.sum({&year.busy_seconds, 1});
  year.wait_seconds = mean(ranks, year.wait_seconds);
  gather(ranks, year.account);
  for (MonthTimes& one : year.times) {
    one.all = ranks.largest(one.all);
    one.parallel = ranks.largest(one.parallel);
    one.busiest = ranks.largest(one.busiest);
    ranks.sum({&one.busy, 1});
    one.waiting = mean(ranks, one.waiting);
    year.parallel_seconds += one.parallel;
    year.busiest_seconds += one.busiest;
    year.busy_seconds += one.busy;
    year.wait_seconds += one.waiting;
    year.merge_seconds += one.merging;
  }
}

int report(const Request& request, const Work& work, std::span<const Month> months,
           const driver::Ranks& ranks, const Year& year) {
  driver::Result result;
  double worth = 0, bound = 0, cost = 0, largest_gap = 0;
  for (std::size_t m = 0; m < months.size(); ++m) {
    worth += year.worth[m], bound += months[m].bound(), cost += year.cost[m];
    largest_gap = std::max(largest_gap, year.worth[m] / months[m].bound() - 1);
  }
  const double iterations = static_cast<double>(work.iterations) * static_cast<double>(months.size());
  result.text("parallel", request.parallel);
  result.text("look", request.look);
  result.text("heap", request.heap);
  result.metric("ranks", ranks.size());
  result.metric("threads", work.threads);
  result.metric("months", static_cast<double>(months.size()));
  result.metric("iterations", work.iterations);
  result.metric("ants", work.colony.ants);
  result.metric("cycles", work.colony.cycles);
  result.metric("cost", cost);
  result.metric("worth", worth);
  result.metric("bound", bound);
  result.metric("gap", worth / bound - 1);
  result.metric("largest_gap", largest_gap);
  result.metric("seconds", year.seconds);
  result.metric("iterations_per_second", iterations / year.seconds);
  result.metric("serial_share", 1 - year.parallel_seconds / year.seconds);
  result.metric("imbalance", year.busiest_seconds * year.threads / year.busy_seconds - 1);
  result.metric("cores_busy", year.busy_seconds / year.seconds);
  result.metric("wait_share", year.wait_seconds / year.seconds);
  result.metric("merge_share", year.merge_seconds / year.seconds);
  result.metric("serialise_share", year.serialise_seconds / year.seconds);
  result.metric("output_share", year.output_seconds / year.seconds);
  result.metric("sends", static_cast<double>(year.sends));
  result.metric("bytes_sent", static_cast<double>(year.bytes));
  result.metric("most_bytes_sent", static_cast<double>(year.most_bytes));
  if (request.account) {
    result.metric("malloc_share", year.account.share());
    result.metric("allocations_per_iteration", static_cast<double>(year.account.allocations) / iterations);
  }
  report_months(result, months, year);
  result.text("solution", driver::hexadecimal(hash(year.texts)));
  result.check("no_plan_is_below_its_bound", largest_gap >= -1e-9 && worth >= bound * (1 - 1e-9));
  corescale_work(iterations);
  return result.print();
}

}  // namespace network
