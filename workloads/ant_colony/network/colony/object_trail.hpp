// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ant_colony/network/colony/plan.hpp"
#include "ant_colony/transition.hpp"
#include "driver/heap.hpp"

namespace network {

/// How strings and objects are made. This determines the share of the time in the memory allocator. buffer: they are overwritten in place,
/// without lists. key: the name of a route is made again at each look-up. measures: an object of the route with its measures, and a copy of
/// it, are made again, too, and kept until the ant's next order.
enum class Look { buffer, key, measures };

/// The same trail in the style of business software, as in the program that Gogar (2016) made scale. Pheromone is found by names that are
/// composed at each look-up. Routes are objects of derived classes, with shared warehouses and lanes, and maps of lists of measures. The
/// arithmetic is that of IndexedTrail, in the same order, so the plans are the same.
template <class Heap>
class ObjectTrail {
 public:
  template <class T>
  using Array = std::vector<T>;
  using Setting = Look;

 private:
  using Text = std::basic_string<char, std::char_traits<char>, driver::Allocator<char, Heap>>;
  template <class Value>
  using ByName = std::map<Text, Value, std::less<>, driver::Allocator<std::pair<const Text, Value>, Heap>>;

  struct Measure {
    static void* operator new(std::size_t bytes) { return Heap::allocate(bytes); }
    static void operator delete(void* block, std::size_t bytes) { Heap::deallocate(block, bytes); }
    Text name, unit;
    double value;
  };
  using Measures = std::list<std::unique_ptr<Measure>, driver::Allocator<std::unique_ptr<Measure>, Heap>>;

  /// What routes refer to; there is one for all routes of a month.
  struct Site {
    Text name;
    const Lane* lane;
  };

  struct Path {
    Path() = default;
    virtual ~Path() = default;
    Path(const Path&) = delete;
    Path& operator=(const Path&) = delete;
    static void* operator new(std::size_t bytes) { return Heap::allocate(bytes); }
    static void operator delete(void* block, std::size_t bytes) { Heap::deallocate(block, bytes); }

    virtual double freight(double weight, double load) const = 0;

    Text key;
    std::shared_ptr<const Site> warehouse, lane;
    Measures measures;
  };
  struct Carried final : Path {
    double freight(double weight, double load) const override {
      return this->lane->lane->freight(weight, load);
    }
  };
  struct Fetched final : Path {
    double freight(double /*weight*/, double /*load*/) const override { return 0; }
  };

  /// The month's warehouses, lanes and names.
  struct Names {
    explicit Names(const Month& month) {
      for (const Warehouse& one : month.network().tables().warehouses)
        warehouses.push_back(std::make_shared<Site>(Site{Text(one.name.c_str()), nullptr}));
      for (const Lane& one : month.network().lanes())
        lanes.push_back(std::make_shared<Site>(Site{name(one), &one}));
      for (int k = 0; k < month.size(); ++k) orders.emplace_back(month.order(k).id.c_str());
      for (const std::string& one : month.network().ports()) ports.emplace_back(one.c_str());
    }

    static Text name(const Lane& lane) {
      const std::string days = std::to_string(static_cast<int>(lane.days));
      return Text((lane.origin + "|" + lane.carrier + "|" + lane.service + "|" + days + "|" + lane.mode +
                   "|" + lane.destination)
                      .c_str());
    }

    /// Overwrites `text` with a route's name; makes at most one allocation.
    void name(int k, const Route& route, Text& text) const {
      const Text &order = orders[static_cast<std::size_t>(k)],
                 &from = warehouses[static_cast<std::size_t>(route.warehouse)]->name,
                 &by = route.lane < 0 ? ports[static_cast<std::size_t>(route.port)]
                                      : lanes[static_cast<std::size_t>(route.lane)]->name;
      text.clear();
      text.reserve(order.size() + from.size() + by.size() + 2);
      text.append(order).append("|").append(from).append("|").append(by);
    }
    Text key(int k, const Route& route) const {
      Text made;
      name(k, route, made);
      return made;
    }

    std::unique_ptr<Path> path(int k, const Route& route, bool with_measures = true) const {
      std::unique_ptr<Path> made;
      if (route.lane < 0)
        made = std::make_unique<Fetched>();
      else
        made = std::make_unique<Carried>();
      if (with_measures)
        for (const auto& [name, unit, value] : measures)
          made->measures.emplace_back(new Measure{name, unit, route.*value});
      fill(*made, k, route);
      return made;
    }

    /// Overwrites `path` with a route of the order, except its measures.
    void fill(Path& path, int k, const Route& route) const {
      name(k, route, path.key);
      path.warehouse = warehouses[static_cast<std::size_t>(route.warehouse)];
      path.lane = route.lane < 0 ? nullptr : lanes[static_cast<std::size_t>(route.lane)];
    }

    struct Measured {
      const char *name, *unit;
      double Route::*value;
    };
    static constexpr Measured measures[] = {
        {"costs of storage", "United States dollars", &Route::storage},
        {"emissions on the way", "kilograms of carbon dioxide", &Route::emissions},
        {"energy on the way", "hours of a kilowatt", &Route::energy},
        {"time spent on the way", "days from door to door", &Route::days}};

    std::vector<std::shared_ptr<const Site>> warehouses, lanes;
    std::vector<Text> orders, ports;
  };

 public:
  class Ant {
   public:
    Ant(const Month& month, Look look)
        : month_(month), look_(look), names_(month), paths_(static_cast<std::size_t>(month.size())) {}

    void take(int k, int r) {
      const Route& route = month_.candidates(k)[static_cast<std::size_t>(r)];
      auto& path = paths_[static_cast<std::size_t>(k)];
      if (look_ == Look::buffer && path)
        names_.fill(*path, k, route);
      else
        path = names_.path(k, route, look_ != Look::buffer);
    }

    double worth(const std::vector<int>& choices) const {
      ByName<double> load;
      for (int k = 0; k < month_.size(); ++k)
        if (const Path& one = path(k); one.lane) load[one.lane->name] += month_.weight(k);
      double sum = 0;
      for (int k = 0; k < month_.size(); ++k) {
        const Path& one = path(k);
        const double on_lane = one.lane ? load.find(one.lane->name)->second : 0;
        const double rated =
            one.lane && month_.network().options().flat ? one.lane->lane->typical_load() : on_lane;
        const Route& route =
            month_.candidates(k)[static_cast<std::size_t>(choices[static_cast<std::size_t>(k)])];
        const auto measure = [&](std::size_t which) {
          const auto& [name, unit, value] = Names::measures[which];
          return look_ == Look::buffer ? route.*value : found(one, name);
        };
        sum += month_.network().options().goal.worth(measure(0) + one.freight(month_.weight(k), rated),
                                                     measure(1), measure(2), measure(3));
      }
      return sum;
    }

   private:
    const Path& path(int k) const { return *paths_[static_cast<std::size_t>(k)]; }
    static double found(const Path& path, const char* name) {
      return (*std::ranges::find_if(path.measures, [name](const auto& one) { return one->name == name; }))
          ->value;
    }

    const Month& month_;
    Look look_;
    Names names_;
    std::vector<std::unique_ptr<Path>> paths_;
  };

  ObjectTrail(const Month& month, double initial, Look look) : month_(month), look_(look), names_(month) {
    for (int k = 0; k < month.size(); ++k)
      for (const Route& route : month.candidates(k)) pheromone_.emplace(names_.key(k, route), initial);
  }

  double attraction(int k, int r) {
    const Route& route = month_.candidates(k)[static_cast<std::size_t>(r)];
    return pheromone(k, route) * route.visibility;
  }

  void mark(int k, int r, double rate, double amount) {
    const Route& route = month_.candidates(k)[static_cast<std::size_t>(r)];
    double& tau = look_ == Look::buffer ? pheromone(k, route) : found(names_.key(k, route));
    tau = ant_colony::marked(tau, rate, amount);
  }

 private:
  double& pheromone(int k, const Route& route) {
    if (look_ == Look::measures) return found(option(k, route).key);
    if (look_ == Look::key) return found(names_.key(k, route));
    names_.name(k, route, buffer_);
    return found(buffer_);
  }
  const Path& option(int k, const Route& route) {
    if (std::exchange(order_, k) != k) options_.clear();
    options_.push_back(names_.path(k, route));
    return *options_.emplace_back(names_.path(k, route));
  }
  double& found(const Text& name) { return pheromone_.find(name)->second; }

  const Month& month_;
  Look look_;
  Names names_;
  Text buffer_;
  std::vector<std::unique_ptr<Path>> options_;  ///< the options of `order_` that were looked at
  int order_ = -1;
  ByName<double> pheromone_;
};

}  // namespace network
