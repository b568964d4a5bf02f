// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ant_colony/network/plan.hpp"
#include "ant_colony/transition.hpp"
#include "driver/heap.hpp"

namespace network {

/// What an ant makes of each route that it looks at, which decides the share of the time that goes into the memory allocator:
/// its name, in memory of the right size; its name piece by piece and the route as an object; each of its measures as well.
enum class Look { key, route, measures };

/// The same trail as business software keeps it, and as the program did whose scaling Gogar (2016) set out to mend: pheromone found
/// by names that are put together at each look-up, routes as objects of derived classes with shared warehouses and lanes and maps of
/// measures. The arithmetic is that of IndexedTrail in the same order, hence the plans are the same.
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
  using Measures = ByName<std::unique_ptr<const Measure>>;

  /// What a route refers to, once for all routes of a month.
  struct Site {
    Text name;
    const Lane* lane;
  };

  struct Path {
    Path(Text given, std::shared_ptr<const Site> from, std::shared_ptr<const Site> by)
        : key(std::move(given)), warehouse(std::move(from)), lane(std::move(by)) {}
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
    using Path::Path;
    double freight(double weight, double load) const override {
      return this->lane->lane->freight(weight, load);
    }
  };
  struct Fetched final : Path {
    using Path::Path;
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
      return Text((lane.carrier + "|" + lane.service + "|" + days + "|" + lane.mode + "|" + lane.destination)
                      .c_str());
    }

    Text key(int k, const Route& route) const {
      Text made = orders[static_cast<std::size_t>(k)] + "|" +
                  warehouses[static_cast<std::size_t>(route.warehouse)]->name + "|" +
                  ports[static_cast<std::size_t>(route.port)];
      if (route.lane >= 0) made += "|" + lanes[static_cast<std::size_t>(route.lane)]->name;
      return made;
    }

    std::unique_ptr<Path> path(int k, const Route& route) const {
      const auto& from = warehouses[static_cast<std::size_t>(route.warehouse)];
      if (route.lane < 0) return std::make_unique<Fetched>(key(k, route), from, nullptr);
      return std::make_unique<Carried>(key(k, route), from, lanes[static_cast<std::size_t>(route.lane)]);
    }

    /// The same as key(), in one allocation.
    Text short_key(int k, const Route& route) const {
      const Text &order = orders[static_cast<std::size_t>(k)],
                 &from = warehouses[static_cast<std::size_t>(route.warehouse)]->name,
                 &port = ports[static_cast<std::size_t>(route.port)];
      const Text* lane = route.lane < 0 ? nullptr : &lanes[static_cast<std::size_t>(route.lane)]->name;
      Text made;
      made.reserve(order.size() + from.size() + port.size() + (lane ? lane->size() : 0) + 3);
      made.append(order).append("|").append(from).append("|").append(port);
      return lane ? made.append("|").append(*lane) : made;
    }

    static void measure(Path& path, const Route& route) {
      add(path, "costs of storage", "United States dollars", route.storage);
      add(path, "emissions on the way", "kilograms of carbon dioxide", route.emissions);
      add(path, "energy on the way", "kilowatt hours", route.energy);
      add(path, "time on the way", "days", route.days);
    }

    static void add(Path& path, const char* name, const char* unit, double value) {
      path.measures.emplace(name, new Measure{name, unit, value});
    }

    std::vector<std::shared_ptr<const Site>> warehouses, lanes;
    std::vector<Text> orders, ports;
  };

 public:
  class Ant {
   public:
    Ant(const Month& month, Look)
        : month_(month), names_(month), paths_(static_cast<std::size_t>(month.size())) {}

    void take(int k, int r) {
      const Route& route = month_.candidates(k)[static_cast<std::size_t>(r)];
      auto& path = paths_[static_cast<std::size_t>(k)] = names_.path(k, route);
      Names::measure(*path, route);
    }

    double worth(const std::vector<int>& /*choices*/) const {
      ByName<double> load;
      for (int k = 0; k < month_.size(); ++k)
        if (const Path& one = path(k); one.lane) load[where(one)] += month_.weight(k);
      double sum = 0;
      for (int k = 0; k < month_.size(); ++k) {
        const Path& one = path(k);
        const double on_lane = one.lane ? load.find(where(one))->second : 0;
        const double rated =
            one.lane && month_.network().options().flat ? one.lane->lane->typical_load() : on_lane;
        const auto measure = [&one](const char* name) { return one.measures.find(name)->second->value; };
        sum += month_.network().options().goal.worth(
            measure("costs of storage") + one.freight(month_.weight(k), rated),
            measure("emissions on the way"), measure("energy on the way"), measure("time on the way"));
      }
      return sum;
    }

   private:
    const Path& path(int k) const { return *paths_[static_cast<std::size_t>(k)]; }
    static Text where(const Path& one) { return Text(one.lane->lane->origin.c_str()) + "|" + one.lane->name; }

    const Month& month_;
    Names names_;
    std::vector<std::unique_ptr<Path>> paths_;
  };

  ObjectTrail(const Month& month, double initial, Look look) : month_(month), look_(look), names_(month) {
    for (int k = 0; k < month.size(); ++k)
      for (const Route& route : month.candidates(k)) pheromone_.emplace(names_.key(k, route), initial);
  }

  double attraction(int k, int r) const {
    const Route& route = month_.candidates(k)[static_cast<std::size_t>(r)];
    if (look_ == Look::key) return pheromone_.find(names_.short_key(k, route))->second * route.visibility;
    const auto path = names_.path(k, route);
    if (look_ == Look::measures) Names::measure(*path, route);
    return pheromone_.find(path->key)->second * route.visibility;
  }

  void mark(int k, int r, double rate, double amount) {
    const Route& route = month_.candidates(k)[static_cast<std::size_t>(r)];
    double& tau = pheromone_.find(names_.key(k, route))->second;
    tau = ant_colony::marked(tau, rate, amount);
  }

 private:
  const Month& month_;
  Look look_;
  Names names_;
  ByName<double> pheromone_;
};

}  // namespace network
