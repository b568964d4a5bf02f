// SPDX-License-Identifier: Apache-2.0
#include "ant_colony/network/solution.hpp"

#include <charconv>
#include <sstream>
#include <stdexcept>

#ifdef CORESCALE_HAS_CEREAL
#include <cereal/archives/portable_binary.hpp>
#include <cereal/types/map.hpp>
#include <cereal/types/memory.hpp>
#include <cereal/types/polymorphic.hpp>
#include <cereal/types/string.hpp>
#include <cereal/types/vector.hpp>
#endif

namespace network {

struct Solution::Air final : Route {
  std::string mode() const override { return "AIR"; }
};
struct Solution::Ground final : Route {
  std::string mode() const override { return "GROUND"; }
};
struct Solution::Fetched final : Route {
  std::string mode() const override { return "CRF"; }
};

double Solution::total(const std::string& measure) const {
  double sum = 0;
  for (const auto& route : routes) sum += route->measures.at(measure);
  return sum;
}

namespace {

/// Adds a cell, in quotes if CSV requires them.
void add(std::string& line, const std::string& text) {
  if (text.find_first_of(",\"\r\n") == text.npos) {
    line += text + ",";
    return;
  }
  line += '"';
  for (const char c : text) line += c == '"' ? std::string("\"\"") : std::string(1, c);
  line += "\",";
}

/// Adds the fewest digits that read back as the same number.
void add(std::string& line, double value) {
  char text[32];
  add(line, std::string(text, std::to_chars(text, text + sizeof text, value).ptr));
}

/// Makes the month's warehouses and lanes, each when the first route refers to it.
class Maker {
 public:
  explicit Maker(const Month& month)
      : month_(month),
        network_(month.network()),
        warehouses_(network_.tables().warehouses.size()),
        ways_(network_.lanes().size()) {}

  Solution make(double worth, int iteration, std::span<const int> choices) {
    Solution made;
    made.month = month_.number() + 1, made.worth = worth, made.iteration = iteration;
    const auto chosen = [&](int k) -> const Route& {
      return month_.candidates(k)[static_cast<std::size_t>(choices[static_cast<std::size_t>(k)])];
    };
    for (int k = 0; k < month_.size(); ++k)
      if (const int lane = chosen(k).lane; lane >= 0) way(lane).load += month_.weight(k);
    for (int k = 0; k < month_.size(); ++k) made.routes.push_back(route(k, chosen(k)));
    return made;
  }

 private:
  Solution::Way& way(int lane) {
    auto& made = ways_[static_cast<std::size_t>(lane)];
    const Lane& from = network_.lanes()[static_cast<std::size_t>(lane)];
    if (!made)
      made = std::make_shared<Solution::Way>(
          Solution::Way{from.carrier, from.origin, from.destination, from.service, from.mode, from.days, 0});
    return *made;
  }

  std::unique_ptr<Solution::Route> route(int k, const Route& from) {
    std::unique_ptr<Solution::Route> made = empty(from.lane);
    made->order = month_.order(k).id;
    made->port = network_.ports()[static_cast<std::size_t>(from.port)];
    auto& warehouse = warehouses_[static_cast<std::size_t>(from.warehouse)];
    if (!warehouse)
      warehouse = std::make_shared<Solution::Site>(
          Solution::Site{network_.tables().warehouses[static_cast<std::size_t>(from.warehouse)].name});
    made->warehouse = warehouse;
    if (from.lane >= 0) made->way = ways_[static_cast<std::size_t>(from.lane)];
    const double freight =
        network_.freight(from.lane, month_.weight(k), from.lane < 0 ? 0 : way(from.lane).load);
    made->measures = {{"cost", from.storage + freight},
                      {"emissions", from.emissions},
                      {"energy", from.energy},
                      {"days", from.days}};
    return made;
  }

  std::unique_ptr<Solution::Route> empty(int lane) const {
    if (lane < 0) return std::make_unique<Solution::Fetched>();
    if (network_.lanes()[static_cast<std::size_t>(lane)].air) return std::make_unique<Solution::Air>();
    return std::make_unique<Solution::Ground>();
  }

  const Month& month_;
  const Network& network_;
  std::vector<std::shared_ptr<Solution::Site>> warehouses_;
  std::vector<std::shared_ptr<Solution::Way>> ways_;
};

}  // namespace

std::string Solution::text() const {
  static const Way none;
  std::string all;
  for (const auto& route : routes) {
    const Way& way = route->way ? *route->way : none;
    add(all, static_cast<double>(month));
    for (const auto& part : {route->order, route->warehouse->name, route->port, way.carrier, way.service})
      add(all, part);
    add(all, way.days);
    add(all, route->mode());
    add(all, way.destination);
    add(all, way.load);
    for (const char* measure : {"cost", "emissions", "energy"}) add(all, route->measures.at(measure));
    all.back() = '\n';
  }
  return all;
}

Solution make_solution(const Month& month, double worth, int iteration, std::span<const int> choices) {
  return Maker(month).make(worth, iteration, choices);
}

#ifdef CORESCALE_HAS_CEREAL
bool can_serialise() { return true; }

std::string serialised(const Solution& solution) {
  std::ostringstream bytes;
  cereal::PortableBinaryOutputArchive archive(bytes);
  archive(solution);
  return bytes.str();
}

Solution deserialised(const std::string& bytes) {
  std::istringstream in(bytes);
  cereal::PortableBinaryInputArchive archive(in);
  Solution solution;
  archive(solution);
  return solution;
}
#else
bool can_serialise() { return false; }
std::string serialised(const Solution&) { throw std::logic_error("this build has no cereal"); }
Solution deserialised(const std::string&) { throw std::logic_error("this build has no cereal"); }
#endif

}  // namespace network

#ifdef CORESCALE_HAS_CEREAL
CEREAL_REGISTER_TYPE(network::Solution::Air)
CEREAL_REGISTER_TYPE(network::Solution::Ground)
CEREAL_REGISTER_TYPE(network::Solution::Fetched)
CEREAL_REGISTER_POLYMORPHIC_RELATION(network::Solution::Route, network::Solution::Air)
CEREAL_REGISTER_POLYMORPHIC_RELATION(network::Solution::Route, network::Solution::Ground)
CEREAL_REGISTER_POLYMORPHIC_RELATION(network::Solution::Route, network::Solution::Fetched)
#endif
