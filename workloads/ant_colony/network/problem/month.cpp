// SPDX-License-Identifier: Apache-2.0
#include "ant_colony/network/problem/month.hpp"

#include <limits>
#include <utility>

#include "ant_colony/network/problem/assignment.hpp"
#include "driver/error.hpp"

namespace network {
namespace {

/// beta = 8 (Dzalbs and Kalganova 2020). A cent is added, so that routes that cost nothing also have a visibility.
double visibility(double cheapest, double estimate) {
  const double eta = (cheapest + 0.01) / (estimate + 0.01);
  const double squared = eta * eta, fourth = squared * squared;
  return fourth * fourth;
}

}  // namespace

Month::Month(const Network& network, int number) : Month(network, number, Candidates::best) {}

Month::Month(const Network& network, int number, Candidates candidates)
    : network_(network), number_(number), orders_(network.months()[static_cast<std::size_t>(number)]) {
  const bool all = candidates == Candidates::all;
  for (const Lane& lane : network.lanes())
    most_.push_back(network.options().flat ? std::numeric_limits<double>::infinity() : lane.most());
  std::vector<std::vector<Route>> routes;
  for (int k = 0; k < size(); ++k) {
    weights_.push_back(order(k).weight);
    routes.push_back(network.routes(order(k)));
    choose_candidates(routes.back(),
                      all ? routes.back().size() : static_cast<std::size_t>(network.options().candidates));
  }
  if (!all) find_bound(routes);
}

const Month& Month::whole() const {
  std::call_once(whole_->once,
                 [this] { whole_->month.reset(new Month(network_, number_, Candidates::all)); });
  return *whole_->month;
}

/// The first candidates are the best route of each warehouse; the next best routes follow. If the warehouses can hold the month and lanes
/// take any weight, the first ones suffice for a plan.
void Month::choose_candidates(std::vector<Route> routes, std::size_t most) {
  std::ranges::stable_sort(routes, {}, &Route::estimate);
  std::vector<char> has_one(network_.tables().warehouses.size());
  const auto best = std::stable_partition(routes.begin(), routes.end(), [&](const Route& one) {
    return !std::exchange(has_one[static_cast<std::size_t>(one.warehouse)], true);
  });
  const auto fewest = static_cast<std::size_t>(best - routes.begin());
  routes.resize(std::min(std::max(fewest, most), routes.size()));
  for (Route& one : routes) one.visibility = visibility(routes[0].estimate, one.estimate);
  const std::size_t row = best_in_.size();
  best_in_.resize(row + warehouses(), -1);
  estimate_in_.resize(row + warehouses(), std::numeric_limits<double>::infinity());
  for (std::size_t r = 0; r < fewest; ++r) {
    best_in_[row + static_cast<std::size_t>(routes[r].warehouse)] = static_cast<int>(r);
    estimate_in_[row + static_cast<std::size_t>(routes[r].warehouse)] = routes[r].estimate;
  }
  fewest_.push_back(static_cast<int>(fewest));
  for (const Route& one : routes) ways_.push_back({one.warehouse, one.lane, network_.worth(one, 0)});
  cheapest_ += routes[0].estimate;
  routes_.insert(routes_.end(), routes.begin(), routes.end());
  first_.push_back(routes_.size());
}

void Month::find_bound(const std::vector<std::vector<Route>>& routes) {
  std::vector<int> capacities;
  for (const Warehouse& one : network_.tables().warehouses) capacities.push_back(one.capacity);
  Assignment assignment(capacities);
  for (int k = 0; k < size(); ++k) {
    std::vector<double> least(capacities.size(), Assignment::never);
    for (const Route& one : routes[static_cast<std::size_t>(k)]) {
      const Lane* lane = one.lane < 0 ? nullptr : &network_.lanes()[static_cast<std::size_t>(one.lane)];
      const double freight = lane == nullptr           ? 0
                             : network_.options().flat ? lane->freight(weight(k), lane->typical_load())
                                                       : lane->least_freight(weight(k));
      double& known = least[static_cast<std::size_t>(one.warehouse)];
      known = std::min(known, network_.worth(one, freight));
    }
    assignment.add(least);
  }
  if (assignment.left_over() > 0)
    throw driver::Error(network_.folder() + "/OrderList.csv",
                        "month " + std::to_string(number_ + 1) + " (order " + order(0).id + " and on): " +
                            std::to_string(assignment.left_over()) + " of " + std::to_string(size()) +
                            " orders find no place in the warehouses that may serve them",
                        "raise the capacities in WhCapacities.csv by " +
                            std::to_string(assignment.left_over()) + " at least, or plan fewer orders");
  bound_ = assignment.cost();
}

}  // namespace network
