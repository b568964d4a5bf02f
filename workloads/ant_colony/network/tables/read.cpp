// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <map>
#include <set>

#include "ant_colony/network/tables/csv.hpp"
#include "ant_colony/network/tables/tables.hpp"

namespace network {
namespace {

constexpr double most_weight = 1e9, most_dollars = 1e9, most_units = 1e9, most_days = 1e4, most_orders = 1e6;

std::vector<Order> read_orders(const std::filesystem::path& folder) {
  const Csv csv(folder / "OrderList.csv");
  const auto id = csv.column({"Order ID"}), date = csv.column({"Order Date"}),
             service = csv.column({"Service Level"}), customer = csv.column({"Customer"}),
             product = csv.column({"Product ID"}), destination = csv.column({"Destination Port"}),
             units = csv.column({"Unit quantity"}), weight = csv.column({"Weight"});
  std::vector<Order> orders;
  std::map<std::string, int> seen;
  for (std::size_t r = 0; r < csv.rows(); ++r) {
    orders.push_back({csv.text(r, id), csv.text(r, date), csv.text(r, service), csv.text(r, customer),
                      csv.text(r, product), csv.text(r, destination), csv.number(r, units, most_units),
                      csv.number(r, weight, most_weight), csv.line(r)});
    const auto [first, is_new] = seen.emplace(orders.back().id, csv.line(r));
    if (!is_new)
      csv.fail(
          r, "order " + orders.back().id + " is there twice, first in line " + std::to_string(first->second),
          "remove one");
  }
  return orders;
}

std::vector<Rate> read_rates(const std::filesystem::path& folder) {
  const Csv csv(folder / "FreightRates.csv");
  const auto carrier = csv.column({"Carrier"}), origin = csv.column({"orig_port_cd"}),
             destination = csv.column({"dest_port_cd"}), service = csv.column({"svc_cd"}),
             mode = csv.column({"mode_dsc"}), days = csv.column({"tpt_day_cnt"}),
             most = csv.column({"max_wgh_qty"}), minimum = csv.column({"minimum cost"}),
             rate = csv.column({"rate"});
  std::vector<Rate> made;
  for (std::size_t r = 0; r < csv.rows(); ++r) {
    made.push_back({csv.text(r, carrier), csv.text(r, origin), csv.text(r, destination), csv.text(r, service),
                    csv.text(r, mode), csv.number(r, days, most_days), csv.number(r, most, most_weight),
                    csv.number(r, minimum, most_dollars), csv.number(r, rate, most_dollars)});
    if (made.back().mode != "AIR" && made.back().mode != "GROUND")
      csv.fail(r, "mode_dsc '" + made.back().mode + "' is unknown", "write AIR or GROUND");
    if (made.back().days != std::floor(made.back().days))
      csv.fail(r, "tpt_day_cnt " + csv.text(r, days) + " is not a whole number", "correct it");
    if (made.back().most_weight == 0) csv.fail(r, "the band ends at 0 kg", "give its largest weight");
  }
  return made;
}

std::vector<Warehouse> read_warehouses(const std::filesystem::path& folder) {
  const Csv costs(folder / "WhCosts.csv"), capacities(folder / "WhCapacities.csv");
  const std::initializer_list<std::string_view> names{"WH", "Plant ID", "Plant Code", "Warehouse ID"};
  const auto cost_of = costs.column(names), capacity_of = capacities.column(names);
  const auto cost = costs.column({"Cost/unit", "Cost per unit"}),
             capacity = capacities.column({"Daily Capacity"});
  std::map<std::string, double> storage;
  for (std::size_t r = 0; r < costs.rows(); ++r)
    if (!storage.emplace(costs.text(r, cost_of), costs.number(r, cost, most_dollars)).second)
      costs.fail(r, "warehouse " + costs.text(r, cost_of) + " is there twice", "remove one");
  std::vector<Warehouse> made;
  std::set<std::string> seen;
  for (std::size_t r = 0; r < capacities.rows(); ++r) {
    const std::string name = capacities.text(r, capacity_of);
    if (!seen.insert(name).second) capacities.fail(r, "warehouse " + name + " is there twice", "remove one");
    if (!storage.contains(name))
      capacities.fail(r, "warehouse " + name + " has no cost", "add it to WhCosts.csv");
    const double orders = capacities.number(r, capacity, most_orders);
    if (orders != std::floor(orders))
      capacities.fail(r, "Daily Capacity " + capacities.text(r, capacity) + " is not a whole number",
                      "correct it");
    made.push_back({name, storage[name], static_cast<int>(orders)});
  }
  return made;
}

std::vector<Link> read_links(const std::filesystem::path& file,
                             std::initializer_list<std::string_view> others) {
  const Csv csv(file);
  const auto warehouse = csv.column({"Plant Code", "Plant ID", "Warehouse ID"}), other = csv.column(others);
  std::vector<Link> links;
  for (std::size_t r = 0; r < csv.rows(); ++r) links.push_back({csv.text(r, warehouse), csv.text(r, other)});
  return links;
}

}  // namespace

Tables read(const std::filesystem::path& folder) {
  return {read_orders(folder),
          read_rates(folder),
          read_warehouses(folder),
          read_links(folder / "ProductsPerPlant.csv", {"Product ID"}),
          read_links(folder / "VmiCustomers.csv", {"Customers", "Customer"}),
          read_links(folder / "PlantPorts.csv", {"Port"})};
}

}  // namespace network
