// SPDX-License-Identifier: Apache-2.0
#include "ant_colony/network/problem/network.hpp"

#include <charconv>
#include <chrono>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>

#include "driver/error.hpp"
#include "driver/random.hpp"

namespace network {
namespace {

// The data set has neither distances nor footprints. They follow from assumed values: km per day, and kg of CO2 and kWh per tonne and km.
// These have the order of magnitude of averages in freight transport.
struct Assumed {
  double kilometres_a_day, kilograms, kilowatt_hours;
};
constexpr Assumed by_air{3000, 0.6, 2.3}, on_the_ground{600, 0.1, 0.35};

std::optional<int> whole(std::string_view digits) {
  int value = 0;
  const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return fault == std::errc{} && end == digits.data() + digits.size() && value >= 0 ? std::optional(value)
                                                                                    : std::nullopt;
}

/// Whether it is a time of the day, as spreadsheets write one after a date: 12:00, 09:30:00.000Z, 9:30 AM.
bool is_time(std::string_view text) {
  return !text.empty() && text[0] >= '0' && text[0] <= '9' && text.find(':') != text.npos &&
         text.find_first_not_of("0123456789:.+- ZAPM") == text.npos;
}

/// Year and month of "2013-05-26", "5/26/13" or a spreadsheet's day, 41420; years of two digits are this century's.
std::optional<std::pair<int, int>> month_of(std::string_view date) {
  if (const auto day = whole(date)) {
    if (*day < 20'000 || *day > 80'000) return std::nullopt;  // 1954 to 2119: else it is no such day
    const std::chrono::year_month_day found{std::chrono::sys_days{std::chrono::year{1899} / 12 / 30} +
                                            std::chrono::days{*day}};
    return std::pair(static_cast<int>(found.year()), static_cast<int>(static_cast<unsigned>(found.month())));
  }
  const char separator = date.find('-') != date.npos ? '-' : '/';
  const std::size_t first = date.find(separator);
  const std::size_t second = first == date.npos ? first : date.find(separator, first + 1);
  if (second == date.npos) return std::nullopt;
  const std::string_view last = date.substr(second + 1);
  const std::size_t behind = last.find_first_of(" T");
  if (behind != last.npos && !is_time(last.substr(behind + 1))) return std::nullopt;
  const std::string_view parts[] = {date.substr(0, first), date.substr(first + 1, second - first - 1),
                                    last.substr(0, behind)};
  const bool year_first = separator == '-';
  const std::string_view years = parts[year_first ? 0 : 2];
  if (years.size() != 4 && (year_first || years.size() != 2)) return std::nullopt;
  const auto year = whole(years), month = whole(parts[year_first ? 1 : 0]),
             day = whole(parts[year_first ? 2 : 1]);
  if (!year || !month || !day) return std::nullopt;
  const std::chrono::year_month_day found{std::chrono::year{*year < 100 ? 2000 + *year : *year},
                                          std::chrono::month{static_cast<unsigned>(*month)},
                                          std::chrono::day{static_cast<unsigned>(*day)}};
  if (!found.ok() || *month > 12 || *day > 31) return std::nullopt;
  return std::pair(static_cast<int>(found.year()), *month);
}

}  // namespace

double Lane::least_freight(double weight) const {
  double least = bands.empty() ? 0 : freight(weight, most());
  for (std::size_t b = band(weight); b < bands.size(); ++b)
    least = std::min(least, freight(weight, bands[b].most));
  return least;
}

Footprint footprint(const Lane& lane, double weight) {
  const Assumed& assumed = lane.air ? by_air : on_the_ground;
  const double tonne_kilometres = weight / 1000 * assumed.kilometres_a_day * std::max(lane.days, 1.0);
  return {tonne_kilometres * assumed.kilograms, tonne_kilometres * assumed.kilowatt_hours};
}

Network::Network(Tables tables, const Options& options, std::string folder)
    : tables_(std::move(tables)), options_(options), folder_(std::move(folder)) {
  make_lanes();
  make_holders();
  make_months();
}

void Network::make_lanes() {
  const auto key = [](const Rate& one) {
    return std::tie(one.carrier, one.origin, one.destination, one.service, one.mode, one.days);
  };
  auto rates = tables_.rates;
  std::ranges::stable_sort(rates, [&key](const Rate& a, const Rate& b) {  // of equal bands the cheaper counts
    return std::tuple(key(a), a.most_weight, a.rate) < std::tuple(key(b), b.most_weight, b.rate);
  });
  std::set<std::string> ports;
  for (const Rate& rate : rates) ports.insert(rate.origin);
  ports_.assign(ports.begin(), ports.end());
  lanes_of_port_.resize(ports_.size());
  const Rate* last = nullptr;
  for (const Rate& rate : rates) {
    if (last == nullptr || key(*last) != key(rate)) {
      lanes_of_port_[static_cast<std::size_t>(std::ranges::lower_bound(ports_, rate.origin) - ports_.begin())]
          .push_back(static_cast<int>(lanes_.size()));
      lanes_.push_back({rate.carrier,
                        rate.origin,
                        rate.destination,
                        rate.service,
                        rate.mode,
                        rate.days,
                        rate.mode == "AIR",
                        {}});
    }
    lanes_.back().bands.push_back({rate.most_weight, rate.minimum, rate.rate});
    last = &rate;
  }
}

void Network::make_holders() {
  std::map<std::string, std::size_t> number;
  for (const Warehouse& one : tables_.warehouses) number.emplace(one.name, number.size());
  holders_.resize(tables_.warehouses.size());
  const auto each = [&](const std::vector<Link>& links,
                        auto keep) {  // a link of a warehouse without capacity is of no use
    for (const Link& link : links)
      if (const auto found = number.find(link.warehouse); found != number.end())
        keep(holders_[found->second], link.other);
  };
  each(tables_.products, [](Holder& one, const std::string& product) { one.products.push_back(product); });
  each(tables_.customers,
       [](Holder& one, const std::string& customer) { one.customers.push_back(customer); });
  each(tables_.ports, [this](Holder& one, const std::string& port) {
    const auto found = std::ranges::lower_bound(ports_, port);
    if (found != ports_.end() && *found == port)
      one.ports.push_back(static_cast<int>(found - ports_.begin()));
  });
  for (Holder& one : holders_) std::ranges::sort(one.products);
}

void Network::make_months() {
  std::map<std::pair<int, int>, std::vector<int>> by_name;
  for (std::size_t k = 0; k < tables_.orders.size(); ++k) {
    const Order& order = tables_.orders[k];
    const auto month = month_of(order.date);
    if (!month)
      throw driver::Error(folder_ + "/OrderList.csv:" + std::to_string(order.line),
                          "Order Date is not a date", "write it as 2013-05-26");
    by_name[*month].push_back(static_cast<int>(k));
  }
  if (by_name.empty()) throw driver::Error(folder_ + "/OrderList.csv", "no orders", "give one at least");
  for (auto& [name, orders] : by_name) months_.push_back(std::move(orders));
  if (months_.size() > 1) return;
  std::vector<int> dealt = std::move(months_[0]);
  driver::Random random(options_.seed, 0x6d6f6e746873, 0);
  for (std::size_t k = dealt.size(); k > 1; --k)
    std::swap(dealt[k - 1], dealt[static_cast<std::size_t>(random.below(static_cast<int>(k)))]);
  constexpr std::size_t parts = 12;
  months_.assign(std::min(parts, dealt.size()), {});
  for (std::size_t k = 0; k < dealt.size(); ++k) months_[k % months_.size()].push_back(dealt[k]);
  for (auto& month : months_) std::ranges::sort(month);
}

bool Network::holds(const Holder& holder, const Order& order) const {
  return std::ranges::binary_search(holder.products, order.product) &&
         (holder.customers.empty() || std::ranges::count(holder.customers, order.customer) > 0);
}

std::vector<Route> Network::routes(const Order& order) const {
  std::vector<Route> found;
  const bool fetched = order.service == "CRF";
  for (std::size_t w = 0; w < holders_.size(); ++w) {
    if (tables_.warehouses[w].capacity == 0 || !holds(holders_[w], order)) continue;
    const double storage = order.units * tables_.warehouses[w].storage;
    for (const int port : holders_[w].ports) {
      Route route{static_cast<int>(w), port, -1, storage, 0, 0, 0, 0, 0};
      route.estimate = worth(route, 0);
      if (fetched) {
        found.push_back(route);
        break;
      }
      for (const int lane : lanes_of_port_[static_cast<std::size_t>(port)]) {
        const Lane& way = lanes_[static_cast<std::size_t>(lane)];
        if (way.destination != order.destination || (!options_.flat && way.most() < order.weight)) continue;
        const auto [emissions, energy] = footprint(way, order.weight);
        route = {static_cast<int>(w), port, lane, storage, emissions, energy, way.days, 0, 0};
        route.estimate = worth(route, freight(lane, order.weight, way.typical_load()));
        found.push_back(route);
      }
    }
  }
  if (found.empty()) refuse(order);
  return found;
}

void Network::refuse(const Order& order) const {
  const auto willing = std::ranges::find_if(holders_, [&](const Holder& one) { return holds(one, order); });
  const std::string where = folder_ + "/OrderList.csv:" + std::to_string(order.line);
  if (willing == holders_.end())
    throw driver::Error(where,
                        "order " + order.id + ": no warehouse holds product " + order.product +
                            " and serves customer " + order.customer,
                        "add one to ProductsPerPlant.csv, or the customer to VmiCustomers.csv");
  throw driver::Error(
      where,
      "order " + order.id + ": no warehouse that holds it has capacity and a lane with a rate to " +
          order.destination + " for its weight",
      "add the capacity to WhCapacities.csv, the port to PlantPorts.csv or the rate to FreightRates.csv");
}

}  // namespace network
