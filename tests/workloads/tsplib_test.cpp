// SPDX-License-Identifier: Apache-2.0
#include "ant_colony/tsplib.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "build_kind.hpp"

namespace {

const std::filesystem::path folder = TSPLIB_DIR;

tsplib::Instance parse(const std::string& text) { return tsplib::Reader(text, "FILE").read(); }

std::string fault(const std::string& text) {
  try {
    parse(text);
  } catch (const driver::Error& error) {
    return error.what();
  }
  return "none";
}

std::string fault_of_file(const std::filesystem::path& file) {
  try {
    tsplib::read(file);
  } catch (const driver::Error& error) {
    return error.what();
  }
  return "none";
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

const std::string square =
    "NAME : square\nTYPE : TSP\nDIMENSION : 4\nEDGE_WEIGHT_TYPE : EUC_2D\nNODE_COORD_SECTION\n"
    "1 0 0\n2 0 3\n3 4 3\n4 4 0\nEOF\n";

std::vector<int> published_tour(const std::string& name) {
  std::ifstream in(folder / (name + ".opt.tour"));
  std::string line;
  while (std::getline(in, line) && !line.starts_with("TOUR_SECTION")) continue;
  std::vector<int> tour;
  for (int city = 0; in >> city && city != -1;) tour.push_back(city - 1);
  return tour;
}

class Published : public testing::TestWithParam<std::string> {};

TEST_P(Published, OptimalTourHasItsLength) {
  const auto file = folder / (GetParam() + ".tsp");
  const auto instance = tsplib::read(file);
  const auto tour = published_tour(GetParam());
  ASSERT_EQ(static_cast<int>(tour.size()), instance.cities());
  long length = 0;
  for (std::size_t k = 0; k < tour.size(); ++k)
    length += instance.distance(tour[k], tour[(k + 1) % tour.size()]);
  EXPECT_EQ(length, tsplib::known_optimum(file));
}

INSTANTIATE_TEST_SUITE_P(Tsplib, Published, testing::Values("berlin52", "eil51", "eil76", "kroA100"));

/// The length of the shortest tour of all, by dynamic programming over sets (Held and Karp 1962).
long shortest(const tsplib::Instance& instance) {
  const int n = instance.cities() - 1;  // city n is the start
  const std::size_t sets = std::size_t{1} << n, width = static_cast<std::size_t>(n);
  std::vector<long> best(sets * width, std::numeric_limits<long>::max() / 2);
  for (std::size_t j = 0; j < width; ++j)
    best[(std::size_t{1} << j) * width + j] = instance.distance(n, static_cast<int>(j));
  for (std::size_t set = 1; set < sets; ++set)
    for (std::size_t j = 0; j < width; ++j)
      for (std::size_t k = 0; (set >> j & 1) && k < width; ++k)
        if (!(set >> k & 1)) {
          long& to_k = best[(set | std::size_t{1} << k) * width + k];
          to_k = std::min(
              to_k, best[set * width + j] + instance.distance(static_cast<int>(j), static_cast<int>(k)));
        }
  long length = std::numeric_limits<long>::max();
  for (std::size_t j = 0; j < width; ++j)
    length = std::min(length, best[(sets - 1) * width + j] + instance.distance(n, static_cast<int>(j)));
  return length;
}

TEST(Tsplib, Burma14HasItsPublishedOptimum) {
  const auto file = folder / "burma14.tsp";
  EXPECT_EQ(tsplib::known_optimum(file), 3323);
  EXPECT_EQ(shortest(tsplib::read(file)), 3323);
}

TEST(Tsplib, ReadsDistancesNamesAndAnyOrderOfCities) {
  const auto instance = parse(square);
  EXPECT_EQ(instance.name, "square");
  EXPECT_EQ(instance.distances, (std::vector<int>{0, 3, 5, 4, 3, 0, 4, 5, 5, 4, 0, 3, 4, 5, 3, 0}));
  EXPECT_EQ(parse(replaced(square, "1 0 0\n2 0 3\n", "2 0 3\n1 0 0\n")).distances, instance.distances);
}

TEST(Tsplib, SpellingOfTheFileDoesNotMatter) {
  const auto distances = parse(square).distances;
  std::string dos;
  for (const char c : square) (c == '\n' ? dos += '\r' : dos) += c;
  EXPECT_EQ(parse(dos).distances, distances);
  EXPECT_EQ(parse(replaced(square, "EOF\n", "")).distances, distances);
  EXPECT_EQ(parse(replaced(square, "4 4 0\nEOF\n", "4 4 0")).distances, distances);
  EXPECT_EQ(parse(replaced(square, "3 4 3", "\t3   +4.0e+00\t3.0\n\n")).distances, distances);
  EXPECT_EQ(parse(replaced(square, "NAME : square", "NAME: square\nCOMMENT: a : b")).distances, distances);
}

TEST(Tsplib, CoincidingCitiesAreZeroApart) {
  EXPECT_EQ(parse(replaced(square, "2 0 3", "2 0 0")).distance(0, 1), 0);
}

TEST(Tsplib, FaultsSayWhatWhereAndTheRemedy) {
  EXPECT_EQ(fault(""), "FILE:0: no NODE_COORD_SECTION; is the file cut short?");
  EXPECT_EQ(fault(square.substr(0, 30)),
            "FILE:3: 'DIMEN' is not a header of a coordinate instance; is this a TSPLIB file with "
            "NODE_COORD_SECTION?");
  EXPECT_EQ(fault(replaced(square, "DIMENSION : 4\n", "")),
            "FILE:4: no DIMENSION before NODE_COORD_SECTION; give the number of cities");
  EXPECT_EQ(fault(replaced(square, "EDGE_WEIGHT_TYPE : EUC_2D\n", "")),
            "FILE:4: no EDGE_WEIGHT_TYPE before NODE_COORD_SECTION; give EUC_2D or GEO");
  EXPECT_EQ(fault(replaced(square, "NODE_COORD_SECTION\n", "")),
            "FILE:5: '1 0 0' is not a header of a coordinate instance; is this a TSPLIB file with "
            "NODE_COORD_SECTION?");
  EXPECT_EQ(fault(replaced(square, ": 4", ": 5")),
            "FILE:10: 4 cities where DIMENSION says 5; is the file cut short, or DIMENSION wrong?");
  EXPECT_EQ(fault(replaced(square, ": 4", ": 3")),
            "FILE:9: '4 4 0' after the last city; is DIMENSION wrong? nothing but EOF may follow");
  EXPECT_EQ(fault(replaced(square, "EOF", "EOF\nrubbish")),
            "FILE:11: 'rubbish' after the last city; is DIMENSION wrong? nothing but EOF may follow");
  EXPECT_EQ(fault(replaced(square, "EUC_2D", "EXPLICIT")),
            "FILE:4: EDGE_WEIGHT_TYPE 'EXPLICIT' is not supported; EUC_2D and GEO are");
  EXPECT_EQ(fault(replaced(square, ": TSP", ": ATSP")),
            "FILE:2: TYPE 'ATSP' is not supported; give a symmetric instance, TYPE TSP");
  EXPECT_EQ(fault(replaced(square, "2 0 3", "1 0 3")),
            "FILE:7: city 1 is there twice; number each city once");
  EXPECT_EQ(fault(replaced(square, "2 0 3", "9 0 3")),
            "FILE:7: city 9 where DIMENSION says 4; number cities from 1 on");
  for (const char* bad : {"2 0", "2 0 3 4", "2 0 x", "2 0 3x", "two 0 3", "2.5 0 3", "2 , 3"})
    EXPECT_EQ(fault(replaced(square, "2 0 3", bad)),
              "FILE:7: '" + std::string(bad) + "' is not a city; a city is its number and two coordinates");
  for (const char* bad : {"2 0 nan", "2 inf 3", "2 0 -1e9"})
    EXPECT_EQ(fault(replaced(square, "2 0 3", bad)),
              "FILE:7: '" + std::string(bad) +
                  "' has a coordinate that cannot be used; numbers up to 1e8 are supported");
  for (const char* bad : {"-4", "0", "2", "5001", "999999999999", "four", "4.0", ""})
    EXPECT_EQ(fault(replaced(square, ": 4", ": " + std::string(bad))),
              "FILE:3: DIMENSION '" + std::string(bad) + "' cannot be used; 3 to 5000 cities are supported");
  EXPECT_EQ(fault(replaced(replaced(square, "EUC_2D", "GEO"), "2 0 3", "2 0 181")),
            "FILE:7: '2 0 181' has a coordinate that cannot be used; degrees are within 180");
}

TEST(Tsplib, BinaryIsShownAsOneShortPrintableLine) {
  std::string message = fault(
      "\x7f"
      "ELF\x02\x01\x1b[31m" +
      std::string(1000, 'x'));
  EXPECT_LT(message.size(), 200U);
  EXPECT_TRUE(
      std::all_of(message.begin(), message.end(), [](unsigned char c) { return c >= 0x20 && c < 0x7f; }));
}

TEST(Tsplib, FilesThatCannotBeRead) {
  EXPECT_EQ(fault_of_file("/absent.tsp"),
            "/absent.tsp: No such file or directory; give a readable TSPLIB file");
  EXPECT_EQ(fault_of_file("/usr"), "/usr: is a directory; give a TSPLIB file");
}

TEST(Tsplib, OptimaBesideTheInstance) {
  const auto home = std::filesystem::path(testing::TempDir()) / "tsplib_optima";
  std::filesystem::create_directories(home);
  EXPECT_EQ(tsplib::known_optimum(home / "absent" / "a.tsp"), std::nullopt);
  std::ofstream(home / "optima.csv") << "optimum,instance\n12,a\nlong,b\n-3,c\n";
  EXPECT_EQ(tsplib::known_optimum(home / "a.tsp"), 12);
  EXPECT_EQ(tsplib::known_optimum(home / "z.tsp"), std::nullopt);
  EXPECT_THROW(tsplib::known_optimum(home / "b.tsp"), driver::Error);
  EXPECT_THROW(tsplib::known_optimum(home / "c.tsp"), driver::Error);
}

/// Cut anywhere and changed at random, a file is read or refused with one line; the sanitizers watch.
TEST(Tsplib, DamagedFilesNeverCrash) {
  const std::string text = tsplib::contents(folder / "burma14.tsp");
  for (std::size_t length = 0; length < text.size(); ++length) fault(text.substr(0, length));
  std::mt19937_64 random(7);
  for (int round = 0; round < (fast ? 20000 : 3000); ++round) {
    std::string damaged = text;
    for (std::uint64_t flips = random() % 4 + 1; flips > 0; --flips)
      damaged[random() % damaged.size()] = static_cast<char>(random() % 3 ? random() % 96 + 32 : random());
    EXPECT_EQ(fault(damaged).find('\n'), std::string::npos);
  }
}

}  // namespace
