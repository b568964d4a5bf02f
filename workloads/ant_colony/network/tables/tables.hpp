// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

/// A network of transport in the tables of the public "supply chain logistics problem" data set (Brunel University, 2021): seven
/// sheets, each a CSV file here. Columns that no one reads are not kept.
namespace network {

struct Order {
  std::string id, date, service, customer, product, destination;
  double units = 0, weight = 0;  ///< pieces, kg
  int line = 0;                  ///< line of OrderList.csv
};

/// A weight band of a lane: up to `most_weight` on the lane in all.
struct Rate {
  std::string carrier, origin, destination, service, mode;
  double days = 0, most_weight = 0;
  double minimum = 0;  ///< dollars for an order, by air
  double rate =
      0;  ///< dollars: by air for a kg, on the ground for the truck, which its orders share by weight
};

struct Warehouse {
  std::string name;
  double storage = 0;  ///< dollars for a unit
  int capacity = 0;    ///< orders a day
};

/// Two columns of names: a warehouse and what belongs to it.
struct Link {
  std::string warehouse, other;
};

struct Tables {
  std::vector<Order> orders;
  std::vector<Rate> rates;
  std::vector<Warehouse> warehouses;
  std::vector<Link> products, customers, ports;  ///< held; customers, if only some are served; linked
};

inline constexpr const char* tables_files[] = {"OrderList.csv",       "FreightRates.csv", "WhCosts.csv",
                                               "WhCapacities.csv",    "PlantPorts.csv",   "VmiCustomers.csv",
                                               "ProductsPerPlant.csv"};

/// The tables in a folder of CSV files, as any program exports the sheets. Columns may be in any order, and further ones are ignored. Cells
/// may be "quoted", and may have $ and commas between thousands. Throws driver::Error, FILE:LINE: what; remedy.
Tables read(const std::filesystem::path& folder);

/// Writes the CSV files, all of them or none. Throws driver::Error.
void write(const Tables& tables, const std::filesystem::path& folder);

/// `orders` in twelve months with the data set's sizes: 19 warehouses, 11 ports, 76 lanes with 1,540 rates, 772 products,
/// 46 customers; each order may come from 4 to 8 warehouses. The seed decides all.
Tables generate(std::uint64_t seed, int orders);

}  // namespace network
