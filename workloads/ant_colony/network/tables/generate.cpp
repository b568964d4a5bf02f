// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>
#include <utility>

#include "ant_colony/network/problem/assignment.hpp"
#include "ant_colony/network/tables/tables.hpp"
#include "driver/random.hpp"

namespace network {
namespace {

// The sizes of the public data set.
constexpr int warehouses = 19, tied_warehouses = 4, ports = 11, lanes = 76, rates = 1540, products = 772,
              customers = 46, carriers = 9, months = 12;
// Each order may come from 4 to 8 warehouses; the public set's 1 to 3 leave little to search.
constexpr int fewest_holders = 4, most_holders = 7;
/// The capacity of all warehouses divided by the number of orders of a month: small enough that cheap warehouses fill up.
constexpr double slack = 1.3;
/// The factor by which a capacity grows if some of a month's orders find no place, which happens for few seeds.
constexpr double growth = 1.05;

std::string name(const char* format, int number) {
  char text[32];
  std::snprintf(text, sizeof text, format, number);
  return text;
}

double cents(double dollars) { return std::round(dollars * 100) / 100; }

class Generator {
 public:
  Generator(std::uint64_t seed, int orders) : random_(seed, 0x6e6574, 0), orders_(orders) {}

  Tables make() {
    make_warehouses();
    make_lanes();
    make_products();
    make_orders();
    make_room();
    return std::move(made_);
  }

 private:
  double between(double low, double high) { return low + (high - low) * random_.unit(); }

  /// A random number with median 1, skewed to the right, as weights of goods are.
  double log_normal(double spread) {
    double sum = 0;
    for (int k = 0; k < 12; ++k) sum += random_.unit();
    return std::exp(spread * (sum - 6));
  }

  void make_warehouses() {
    std::vector<double> sizes;
    sizes.reserve(warehouses);
    for (int w = 0; w < warehouses; ++w) sizes.push_back(between(0.3, 2.0));
    double sum = 0;
    for (const double size : sizes) sum += size;
    for (int w = 0; w < warehouses; ++w) {
      const double share = sizes[static_cast<std::size_t>(w)] / sum;
      made_.warehouses.push_back({name("PLANT%02d", w + 1), cents(between(0.35, 2.05)),
                                  static_cast<int>(std::ceil(slack * share * orders_ / months))});
      const int first = random_.below(ports);
      made_.ports.push_back({made_.warehouses.back().name, name("PORT%02d", first + 1)});
      if (random_.unit() < 0.4)
        made_.ports.push_back({made_.warehouses.back().name,
                               name("PORT%02d", (first + 1 + random_.below(ports - 1)) % ports + 1)});
    }
    for (int w = warehouses - tied_warehouses; w < warehouses; ++w)
      for (int c = 0; c < 4; ++c)
        made_.customers.push_back({made_.warehouses[static_cast<std::size_t>(w)].name,
                                   name("V5555_%d", (w * 4 + c) % customers + 1)});
  }

  /// Each port has its lanes. The price for a kg falls from the first band of a lane to the last.
  void make_lanes() {
    for (int lane = 0; lane < lanes; ++lane) {
      const bool ground = random_.unit() < 0.15;
      Rate rate{name("V444_%d", lane / ports % carriers),
                name("PORT%02d", lane % ports + 1),
                "PORT09",
                random_.unit() < 0.5 ? "DTD" : "DTP",
                ground ? "GROUND" : "AIR",
                static_cast<double>(ground ? 3 + random_.below(8) : 1 + random_.below(5)),
                0,
                ground ? 0 : cents(between(2, 12)),
                0};
      const int bands = rates / lanes + (lane < rates % lanes ? 1 : 0);
      const double first = between(0.9, 2.4), last = first * between(0.35, 0.6), most = between(800, 4000);
      for (int band = 1; band <= bands; ++band) {
        const double part = static_cast<double>(band) / bands;
        rate.most_weight = std::round(most * std::pow(part, 3) * 100) / 100;
        const double per_kg = first + (last - first) * part;
        rate.rate = cents(ground ? 0.6 * per_kg * rate.most_weight : per_kg);
        made_.rates.push_back(rate);
      }
    }
  }

  void make_products() {
    const int open = warehouses - tied_warehouses;
    for (int p = 0; p < products; ++p) {
      const int holders = fewest_holders + random_.below(most_holders - fewest_holders + 1);
      const int first = random_.below(open), stride = 1 + 2 * random_.below(open / 2);
      std::vector<int> held;
      for (int w = first; static_cast<int>(held.size()) < holders; w = (w + stride) % open) {
        while (std::ranges::find(held, w) != held.end()) w = (w + 1) % open;
        held.push_back(w);
      }
      held.push_back(open + random_.below(tied_warehouses));
      for (const int w : held)
        made_.products.push_back(
            {made_.warehouses[static_cast<std::size_t>(w)].name, name("%d", 1'600'000 + 13 * p)});
    }
  }

  void make_orders() {
    for (int k = 0; k < orders_; ++k) {
      const double weight = cents(18 * log_normal(0.8)), lot = log_normal(0.5);
      const double draw = random_.unit();
      Order order;
      order.id = name("1447%06d.7", k);
      order.date = name("2013-%02d-15", 1 + static_cast<int>(static_cast<long>(k) * months / orders_));
      order.service = draw < 0.06 ? "CRF" : draw < 0.5 ? "DTP" : "DTD";
      order.customer = name("V5555_%d", 1 + random_.below(customers));
      order.product = name("%d", 1'600'000 + 13 * random_.below(products));
      order.destination = "PORT09";
      order.units = std::max(1.0, std::round(1.6 * weight * lot));
      order.weight = std::max(0.01, weight);
      made_.orders.push_back(std::move(order));
    }
  }

  void make_room() {
    while (lacks_room())
      for (Warehouse& one : made_.warehouses)
        one.capacity = static_cast<int>(std::ceil(growth * one.capacity));
  }

  /// Whether, in some month, a maximum flow into the warehouses that may serve the orders leaves any order over.
  bool lacks_room() const {
    std::map<std::string, std::set<std::string>> holders, tied;  // of a product; of a customer
    std::set<std::string> is_tied;
    for (const Link& one : made_.products) holders[one.other].insert(one.warehouse);
    for (const Link& one : made_.customers)
      tied[one.other].insert(one.warehouse), is_tied.insert(one.warehouse);
    std::vector<int> capacities;
    for (const Warehouse& one : made_.warehouses) capacities.push_back(one.capacity);
    std::map<std::string, Assignment> by_month;
    for (const Order& order : made_.orders) {
      std::vector<double> costs;
      for (const Warehouse& one : made_.warehouses) {
        const bool serves = !is_tied.contains(one.name) || tied[order.customer].contains(one.name);
        costs.push_back(serves && holders[order.product].contains(one.name) ? 0 : Assignment::never);
      }
      by_month.try_emplace(order.date, capacities).first->second.add(costs);
    }
    return std::ranges::any_of(by_month, [](const auto& one) { return one.second.left_over() > 0; });
  }

  driver::Random random_;
  int orders_;
  Tables made_;
};

}  // namespace

Tables generate(std::uint64_t seed, int orders) { return Generator(seed, orders).make(); }

}  // namespace network
