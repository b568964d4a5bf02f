// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "driver/error.hpp"

/// Symmetric travelling salesman problems in TSPLIB95 format (Reinelt 1991), of edge weight types EUC_2D and
/// GEO.
namespace tsplib {

/// Distances are kept as a matrix, and each colony at work keeps pheromone of the same shape: 5000 cities
/// take 100 MB, and 200 MB a thread.
inline constexpr int max_cities = 5000;

/// The farthest coordinate: a distance fits an int with room to spare.
inline constexpr double max_coordinate = 1e8;

struct Point {
  double x, y;
};

struct Instance {
  std::string name;
  std::vector<Point> points;   ///< city i of the file is points[i - 1]
  std::vector<int> distances;  ///< points.size()^2, row by row

  int cities() const { return static_cast<int>(points.size()); }
  int distance(int i, int j) const {
    return distances[static_cast<std::size_t>(i) * points.size() + static_cast<std::size_t>(j)];
  }
};

/// TSPLIB95's rounded Euclidean distance.
inline int euclidean(Point a, Point b) {
  const double dx = a.x - b.x, dy = a.y - b.y;
  // NOLINTNEXTLINE(bugprone-incorrect-roundings): so it is defined
  return static_cast<int>(std::sqrt(dx * dx + dy * dy) + 0.5);
}

/// TSPLIB95's distance in km on a sphere; coordinates are latitude and longitude as DDD.MM.
inline int geographical(Point a, Point b) {
  const auto radians = [](double x) {
    const double degrees = std::trunc(x);
    return 3.141592 * (degrees + 5.0 * (x - degrees) / 3.0) / 180.0;
  };
  const double q1 = std::cos(radians(a.y) - radians(b.y));
  const double q2 = std::cos(radians(a.x) - radians(b.x));
  const double q3 = std::cos(radians(a.x) + radians(b.x));
  // Rounding may carry the cosine of coinciding points past 1.
  const double cosine = std::clamp(0.5 * ((1.0 + q1) * q2 - (1.0 - q1) * q3), -1.0, 1.0);
  return static_cast<int>(6378.388 * std::acos(cosine) + 1.0);
}

/// Reads one text from beginning to end; every fault it finds is one line, FILE:LINE: what; remedy.
class Reader {
 public:
  Reader(std::string_view text, std::string file) : rest_(text), file_(std::move(file)) {}

  Instance read() {
    while (!in_section_ && next_line()) header();
    if (!in_section_) fail("no NODE_COORD_SECTION", "is the file cut short?");
    require_header();
    coordinates();
    trailer();
    return finish();
  }

 private:
  using Distance = int (*)(Point, Point);

  [[noreturn]] void fail(const std::string& what, const std::string& remedy) const {
    throw driver::Error(file_ + ":" + std::to_string(line_number_), what, remedy);
  }

  /// The next line that is not blank, without its line end (CRLF too) and the blanks around it.
  bool next_line() {
    while (!rest_.empty()) {
      const std::size_t end = std::min(rest_.find('\n'), rest_.size());
      line_ = trimmed(rest_.substr(0, end));
      rest_.remove_prefix(std::min(end + 1, rest_.size()));
      ++line_number_;
      if (!line_.empty()) return true;
    }
    return false;
  }

  static std::string_view trimmed(std::string_view text) {
    const auto blank = " \t\r\v\f";
    const std::size_t first = text.find_first_not_of(blank);
    return first == text.npos ? std::string_view()
                              : text.substr(first, text.find_last_not_of(blank) - first + 1);
  }

  void header() {
    const std::size_t colon = line_.find(':');
    const std::string_view key = trimmed(line_.substr(0, colon));
    const std::string_view value = colon == line_.npos ? "" : trimmed(line_.substr(colon + 1));
    if (key == "NAME")
      name_ = value;
    else if (key == "TYPE")
      need(value == "TSP", "TYPE", value, "give a symmetric instance, TYPE TSP");
    else if (key == "DIMENSION")
      dimension_ = dimension(value);
    else if (key == "EDGE_WEIGHT_TYPE")
      distance_ = distance(value);
    else if (key == "NODE_COORD_TYPE")
      need(value == "TWOD_COORDS", "NODE_COORD_TYPE", value, "give TWOD_COORDS");
    else if (key == "NODE_COORD_SECTION")
      in_section_ = true;
    else if (key != "COMMENT" && key != "EDGE_WEIGHT_FORMAT" && key != "DISPLAY_DATA_TYPE")
      fail("'" + shown(key) + "' is not a header of a coordinate instance",
           "is this a TSPLIB file with NODE_COORD_SECTION?");
  }

  void need(bool good, const std::string& key, std::string_view value, const std::string& remedy) const {
    if (!good) fail(key + " '" + shown(value) + "' is not supported", remedy);
  }

  /// For a message: printable, and short.
  static std::string shown(std::string_view text) {
    std::string out(text.substr(0, 40));
    std::replace_if(
        out.begin(), out.end(), [](unsigned char c) { return c < 0x20 || c >= 0x7f; }, '?');
    return text.size() > 40 ? out + "..." : out;
  }

  template <class Number>
  static bool is_number(std::string_view text, Number& number) {
    if (text.starts_with('+')) text.remove_prefix(1);
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
    return fault == std::errc{} && end == text.data() + text.size();
  }

  int dimension(std::string_view value) const {
    int n = 0;
    if (!is_number(value, n) || n < 3 || n > max_cities)
      fail("DIMENSION '" + shown(value) + "' cannot be used",
           "3 to " + std::to_string(max_cities) + " cities are supported");
    return n;
  }

  Distance distance(std::string_view type) {
    geographic_ = type == "GEO";
    need(geographic_ || type == "EUC_2D", "EDGE_WEIGHT_TYPE", type, "EUC_2D and GEO are");
    return geographic_ ? geographical : euclidean;
  }

  void require_header() const {
    if (dimension_ == 0) fail("no DIMENSION before NODE_COORD_SECTION", "give the number of cities");
    if (distance_ == nullptr) fail("no EDGE_WEIGHT_TYPE before NODE_COORD_SECTION", "give EUC_2D or GEO");
  }

  void coordinates() {
    std::vector<std::optional<Point>> found(static_cast<std::size_t>(dimension_));
    for (int count = 0; count < dimension_; ++count) {
      if (!next_line() || line_ == "EOF")
        fail(std::to_string(count) + " cities where DIMENSION says " + std::to_string(dimension_),
             "is the file cut short, or DIMENSION wrong?");
      coordinate(found);
    }
    for (const auto& point : found) points_.push_back(*point);
  }

  void coordinate(std::vector<std::optional<Point>>& found) const {
    std::string_view rest = line_;
    int id = 0;
    Point point{};
    if (!is_number(word(rest), id) || !is_number(word(rest), point.x) || !is_number(word(rest), point.y) ||
        !rest.empty())
      fail("'" + shown(line_) + "' is not a city", "a city is its number and two coordinates");
    if (id < 1 || id > dimension_)
      fail("city " + std::to_string(id) + " where DIMENSION says " + std::to_string(dimension_),
           "number cities from 1 on");
    if (found[static_cast<std::size_t>(id - 1)])
      fail("city " + std::to_string(id) + " is there twice", "number each city once");
    check(point);
    found[static_cast<std::size_t>(id - 1)] = point;
  }

  void check(Point point) const {
    const double most = geographic_ ? 180.0 : max_coordinate;
    if (!(std::abs(point.x) <= most && std::abs(point.y) <= most))  // NaN too
      fail("'" + shown(line_) + "' has a coordinate that cannot be used",
           geographic_ ? "degrees are within 180" : "numbers up to 1e8 are supported");
  }

  static std::string_view word(std::string_view& rest) {
    const std::size_t end = std::min(rest.find_first_of(" \t"), rest.size());
    const std::string_view first = rest.substr(0, end);
    rest = trimmed(rest.substr(end));
    return first;
  }

  void trailer() {
    bool ended = false;
    while (next_line()) {
      if (ended || line_ != "EOF")
        fail("'" + shown(line_) + "' after the last city", "is DIMENSION wrong? nothing but EOF may follow");
      ended = true;
    }
  }

  Instance finish() const {
    Instance instance{name_, points_, {}};
    instance.distances.reserve(points_.size() * points_.size());
    for (const Point a : points_)
      for (const Point b : points_) instance.distances.push_back(distance_(a, b));
    for (int i = 0; i < instance.cities(); ++i)  // GEO's formula gives 1 from a city to itself
      instance.distances[static_cast<std::size_t>(i) * (points_.size() + 1)] = 0;
    return instance;
  }

  std::string_view rest_, line_;
  std::string file_, name_;
  int line_number_ = 0, dimension_ = 0;
  Distance distance_ = nullptr;
  bool geographic_ = false, in_section_ = false;
  std::vector<Point> points_;
};

inline std::string contents(const std::filesystem::path& file) {
  std::error_code fault;
  if (std::filesystem::is_directory(file, fault))
    throw driver::Error(file.string(), "is a directory", "give a TSPLIB file");
  std::ifstream in(file, std::ios::binary);
  if (!in) throw driver::Error(file.string(), std::strerror(errno), "give a readable TSPLIB file");
  std::string text(std::istreambuf_iterator<char>(in), {});
  if (in.bad()) throw driver::Error(file.string(), "cannot be read to its end", "see the disk");
  return text;
}

/// The instance in `file`. Throws driver::Error, FILE:LINE: what; remedy.
inline Instance read(const std::filesystem::path& file) {
  const std::string text = contents(file);
  return Reader(text, file.string()).read();
}

/// The length of the optimal tour, from the `optima.csv` beside the instance; nothing if it is not listed.
inline std::optional<long> known_optimum(const std::filesystem::path& file) {
  const std::filesystem::path table = std::filesystem::path(file).replace_filename("optima.csv");
  std::ifstream in(table);
  std::string line;
  if (!std::getline(in, line)) return std::nullopt;
  const auto cells = [](const std::string& row) {
    std::vector<std::string> all;
    std::istringstream stream(row);
    for (std::string cell; std::getline(stream, cell, ',');) all.push_back(cell);
    return all;
  };
  const auto titles = cells(line);
  const auto column = [&titles](std::string_view title) {
    return static_cast<std::size_t>(std::find(titles.begin(), titles.end(), title) - titles.begin());
  };
  for (int number = 2; std::getline(in, line); ++number) {
    const auto row = cells(line);
    if (column("instance") >= row.size() || row[column("instance")] != file.stem().string()) continue;
    long optimum = 0;
    const std::string text = column("optimum") < row.size() ? row[column("optimum")] : "";
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), optimum);
    if (fault == std::errc{} && end == text.data() + text.size() && optimum > 0) return optimum;
    throw driver::Error(table.string() + ":" + std::to_string(number), "optimum '" + text + "' is no length",
                        "correct it, or give --optimum");
  }
  return std::nullopt;
}

}  // namespace tsplib
