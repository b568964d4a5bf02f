// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ant_colony/problem.hpp"
#include "ant_colony/transition.hpp"

namespace ant_colony {

/// The same trail as business software has it, and as in the ant colony that Gogar (2016) made scale. Roads are found by names that are
/// composed at each look-up, and passed on as objects on the heap. Most of its time goes into making and freeing small strings and objects,
/// so it scales as its memory allocator does. The arithmetic is that of IndexedTrail, in the same order, so the tours are the same.
class StringTrail {
 public:
  struct Measure {
    explicit Measure(double given) : value(given) {}
    virtual ~Measure() = default;
    double value;
  };
  struct Pheromone final : Measure {
    using Measure::Measure;
  };
  struct Visibility final : Measure {
    using Measure::Measure;
  };

  struct Road {
    std::string from, to;
    std::vector<std::unique_ptr<Measure>> measures;

    double attraction() const {
      double product = 1.0;
      for (const auto& measure : measures) product *= measure->value;
      return product;
    }
  };

  class Route {
   public:
    explicit Route(const Problem&) {}

    void start(int city) {
      stops_.clear();
      go_to(city);
    }
    void go_to(int city) { stops_.push_back(std::make_unique<Stop>(Stop{name_of(city), city})); }
    int here() const { return stops_.back()->city; }
    void copy_to(std::vector<int>& tour) const {
      tour.clear();
      for (const auto& stop : stops_) tour.push_back(stop->city);
    }

   private:
    struct Stop {
      std::string name;
      int city;
    };
    std::vector<std::unique_ptr<Stop>> stops_;
  };

  StringTrail(const Problem& problem, double initial) : problem_(problem) {
    for (int i = 0; i < problem.cities(); ++i) names_.push_back(name_of(i));
    for (int i = 0; i < problem.cities(); ++i)
      for (int j = 0; j < i; ++j) tau_.emplace(road_name(i, j), initial);
  }

  double attraction(int i, int r) const {
    return attraction_to(i, problem_.candidates(i)[static_cast<std::size_t>(r)]);
  }

  double attraction_to(int i, int j) const { return survey(i, j)->attraction(); }

  void mark(int i, int j, double rate, double amount) {
    double& tau = tau_.find(road_name(i, j))->second;
    tau = marked(tau, rate, amount);
  }

 private:
  /// The road between two cities with everything known about it. It is made anew for every ant that asks.
  std::unique_ptr<Road> survey(int i, int j) const {
    auto road = std::make_unique<Road>();
    road->from = name(i);
    road->to = name(j);
    road->measures.push_back(std::make_unique<Pheromone>(tau_.find(road_name(i, j))->second));
    road->measures.push_back(std::make_unique<Visibility>(visibility(problem_.distance(i, j))));
    return road;
  }

  std::string name(int city) const { return names_[static_cast<std::size_t>(city)]; }

  std::string road_name(int i, int j) const { return name(std::min(i, j)) + " to " + name(std::max(i, j)); }

  static std::string name_of(int city) { return "customer number " + std::to_string(city); }

  const Problem& problem_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, double> tau_;
};

}  // namespace ant_colony
