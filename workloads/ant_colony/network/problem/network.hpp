// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "ant_colony/network/tables/tables.hpp"

namespace network {

/// The worth of a unit of each measure, in dollars. The ants minimise the sum (Veluscek et al. 2015 call it composite).
struct Goal {
  double cost = 1;       ///< weight of a dollar
  double emissions = 0;  ///< weight of a kg of CO2
  double energy = 0;     ///< weight of a kWh
  double time = 0;       ///< weight of a day of an order's way

  double worth(double dollars, double kilograms, double kilowatt_hours, double days) const {
    return dollars * cost + kilograms * emissions + kilowatt_hours * energy + days * time;
  }
};

struct Options {
  Goal goal;
  bool flat = false;  ///< the cost of a lane does not depend on its load, and a lane takes any weight
  int candidates =
      12;  ///< routes that an ant looks at first for an order: the best of each warehouse, then the next best
  std::uint64_t seed = 1;
};

/// A carrier's service from a port to a port, with a rate for each band of the weight on it.
struct Lane {
  struct Band {
    double most, minimum, rate;  ///< kg, dollars, dollars
  };
  std::string carrier, origin, destination, service, mode;
  double days = 0;
  bool air = true;
  std::vector<Band> bands;  ///< sorted by `most`

  double most() const { return bands.back().most; }
  /// The load at which a lane is judged before its load is known; always used if rates are flat.
  double typical_load() const { return 0.1 * most(); }
  std::size_t band(double load) const {
    const auto found = std::ranges::lower_bound(bands, load, {}, &Band::most);
    return std::min(static_cast<std::size_t>(found - bands.begin()), bands.size() - 1);
  }
  /// Dollars for an order of `weight` on a lane that carries `load` (Dzalbs and Kalganova 2020).
  double freight(double weight, double load) const {
    const Band& at = bands[band(load)];
    return air ? std::max(at.minimum, at.rate * weight) : at.rate * weight / load;
  }
  /// The least that `freight` can be at any load.
  double least_freight(double weight) const;
};

/// Measures, besides cost, of an order's way on a lane. They follow from assumed distances and factors, which are constants in network.cpp.
struct Footprint {
  double emissions = 0, energy = 0;
};
Footprint footprint(const Lane& lane, double weight);

/// A way for an order. If a customer fetches its goods (`lane` < 0), it costs only storage.
struct Route {
  int warehouse = 0, port = 0, lane = -1;
  double storage = 0, emissions = 0, energy = 0, days = 0;
  double estimate = 0;    ///< its worth at the lane's typical load
  double visibility = 0;  ///< eta to the power of beta: (the order's cheapest estimate over this one)^8
};

/// All that every month has in common.
class Network {
 public:
  /// Checks that each order has a warehouse and a way. `file` names the folder in messages. Throws driver::Error.
  Network(Tables tables, const Options& options, std::string folder);

  const Options& options() const { return options_; }
  const Tables& tables() const { return tables_; }
  const std::vector<Lane>& lanes() const { return lanes_; }
  const std::vector<std::string>& ports() const { return ports_; }
  const std::string& folder() const { return folder_; }

  /// The orders of each month, by the year and month of their dates. If all dates have the same month, the seed deals the orders into
  /// twelve equal parts.
  const std::vector<std::vector<int>>& months() const { return months_; }

  std::vector<Route> routes(const Order& order) const;

  /// The load at which a lane's rate is taken.
  double load_for_rate(int lane, double load) const {
    return options_.flat ? lanes_[static_cast<std::size_t>(lane)].typical_load() : load;
  }
  double freight(int lane, double weight, double load) const {
    return lane < 0 ? 0 : lanes_[static_cast<std::size_t>(lane)].freight(weight, load_for_rate(lane, load));
  }
  double worth(const Route& route, double freight) const {
    return options_.goal.worth(route.storage + freight, route.emissions, route.energy, route.days);
  }

 private:
  struct Holder {  ///< a warehouse, as an order sees it
    std::vector<std::string> products, customers;
    std::vector<int> ports;
  };

  void make_lanes();
  void make_holders();
  void make_months();
  bool holds(const Holder& holder, const Order& order) const;
  [[noreturn]] void refuse(const Order& order) const;

  Tables tables_;
  Options options_;
  std::string folder_;
  std::vector<std::string> ports_;
  std::vector<Lane> lanes_;
  std::vector<std::vector<int>> lanes_of_port_;
  std::vector<Holder> holders_;
  std::vector<std::vector<int>> months_;
};

}  // namespace network
