// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ant_colony/network/problem/month.hpp"

namespace network {

/// A month's plan as the objects that the study describes: routes of derived classes, shared warehouses and lanes, names, maps of measures.
/// It does not refer to the tables, so that a rank can send it to another.
struct Solution {
  struct Site {
    std::string name;
    template <class Archive>
    void serialize(Archive& archive) {
      archive(name);
    }
  };
  struct Way {  ///< a lane, with what it carries
    std::string carrier, origin, destination, service, mode;
    double days = 0, load = 0;
    template <class Archive>
    void serialize(Archive& archive) {
      archive(carrier, origin, destination, service, mode, days, load);
    }
  };
  struct Route {
    virtual ~Route() = default;
    virtual std::string mode() const = 0;
    template <class Archive>
    void serialize(Archive& archive) {
      archive(order, port, warehouse, way, measures);
    }
    std::string order, port;
    std::shared_ptr<Site> warehouse;
    std::shared_ptr<Way> way;  ///< null if the customer fetches its goods
    std::map<std::string, double> measures;
  };
  struct Air;
  struct Ground;
  struct Fetched;

  int month = 0;
  double worth = std::numeric_limits<double>::infinity();
  int iteration = std::numeric_limits<int>::max();
  std::vector<std::unique_ptr<Route>> routes;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(month, worth, iteration, routes);
  }

  bool found() const { return !routes.empty(); }

  /// The sum of a measure over all routes: "cost", "emissions", "energy" or "days".
  double total(const std::string& measure) const;

  /// A line of CSV for each order, under `headings`.
  std::string text() const;
  static constexpr const char* headings =
      "Month,Order ID,Plant Code,Origin Port,Carrier,Service,Days,Mode,Destination Port,Lane "
      "load,Cost,Emissions,Energy\n";
};

Solution make_solution(const Month& month, double worth, int iteration, std::span<const int> choices);

/// Whether this build can send solutions from rank to rank.
bool can_serialise();

/// The whole graph as bytes, and back. Throw std::logic_error if the build has no cereal.
std::string serialised(const Solution& solution);
Solution deserialised(const std::string& bytes);

}  // namespace network
