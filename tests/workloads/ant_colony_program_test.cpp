// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "build_kind.hpp"
#include "program.hpp"

namespace {

Finished ant_colony(const std::string& arguments, const std::string& environment = "") {
  return run_program(ANT_COLONY, arguments, environment);
}

std::string instance(const std::string& name) { return "--instance '" TSPLIB_DIR "/" + name + ".tsp' "; }

TEST(AntColonyProgram, PrintsOneJsonLine) {
  const Finished run = ant_colony(instance("burma14") + "--cycles 20", "OMP_NUM_THREADS=1");
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.output.find('\n'), run.output.size() - 1);
  EXPECT_EQ(field(run.output, "length"), "3323");
  EXPECT_EQ(field(run.output, "gap"), "0");
  EXPECT_EQ(field(run.output, "threads"), "1");
  EXPECT_EQ(field(run.output, "tour_is_permutation"), "true");
  EXPECT_EQ(field(run.output, "length_recomputed"), "true");
  EXPECT_GT(std::stod(field(run.output, "seconds")), 0);
}

TEST(AntColonyProgram, GapToWhatOptimumIsKnown) {
  const std::string quick = "--cycles 5 --colonies 2 ";
  EXPECT_EQ(
      field(ant_colony(instance("burma14") + quick + "--optimum 1000", "OMP_NUM_THREADS=1").output, "gap"),
      "2.323");
  const auto copy = std::filesystem::path(testing::TempDir()) / "without_optimum" / "burma14.tsp";
  std::filesystem::create_directories(copy.parent_path());
  std::filesystem::copy_file(TSPLIB_DIR "/burma14.tsp", copy,
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_EQ(field(ant_colony("--instance " + copy.string() + " " + quick, "OMP_NUM_THREADS=1").output, "gap"),
            "null");
}

TEST(AntColonyProgram, TourIsTheSameForThreadsSchedulesAndTrails) {
  const std::string request =
      instance("eil76") + (fast ? "--cycles 12 --colonies 7 " : "--cycles 3 --colonies 5 ");
  const std::string expected = field(ant_colony(request, "OMP_NUM_THREADS=1").output, "tour");
  EXPECT_EQ(expected.size(), 18U) << expected;
  for (const std::string threads : {"1", "2", "4"})
    for (const std::string schedule : {"static", "static,1", "dynamic,2", "guided"})
      for (const std::string pheromone : {"indexed", "strings"}) {
        if (tsan && threads != "1") continue;
        const Finished run = ant_colony(request + "--pheromone " + pheromone,
                                        "OMP_NUM_THREADS=" + threads + " OMP_SCHEDULE=" + schedule);
        EXPECT_EQ(field(run.output, "tour"), expected) << threads << schedule << pheromone << run.output;
#ifdef _OPENMP
        EXPECT_EQ(field(run.output, "threads"), threads);
#endif
      }
  EXPECT_NE(field(ant_colony(request + "--seed 2", "OMP_NUM_THREADS=1").output, "tour"), expected);
}

class Allocator : public testing::TestWithParam<std::string> {};

TEST_P(Allocator, TourIsTheSame) {
  if (sanitized) GTEST_SKIP() << "a sanitizer brings its own allocator";
  if (std::system(("ldconfig -p 2>/dev/null | grep -q " + GetParam()).c_str()) != 0 &&
      std::system(("/sbin/ldconfig -p | grep -q " + GetParam()).c_str()) != 0)
    GTEST_SKIP() << GetParam() << " is not installed";
  for (const std::string pheromone : {"indexed", "strings"}) {
    const std::string request = instance("eil51") + "--cycles 10 --colonies 4 --pheromone " + pheromone;
    const Finished run = ant_colony(request, "OMP_NUM_THREADS=2 LD_PRELOAD=" + GetParam());
    EXPECT_EQ(run.output.find("cannot be preloaded"), std::string::npos) << run.output;
    EXPECT_EQ(field(run.output, "tour"), field(ant_colony(request, "OMP_NUM_THREADS=2").output, "tour"));
  }
}

INSTANTIATE_TEST_SUITE_P(Preloaded, Allocator,
                         testing::Values("libmimalloc.so.2", "libjemalloc.so.2", "libtcmalloc_minimal.so.4",
                                         "libtbbmalloc_proxy.so.2"),
                         [](const auto& allocator) {
                           std::string name = allocator.param.substr(3);
                           return name.substr(0, name.find_first_of("._"));
                         });

TEST(AntColonyProgram, ReportsThroughRegionHeader) {
  const auto results = std::filesystem::path(testing::TempDir()) / "ant_colony_results";
  std::filesystem::remove_all(results);
  std::filesystem::create_directories(results);
  ant_colony(instance("burma14") + "--cycles 20 --colonies 3",
             "OMP_NUM_THREADS=1 CORESCALE_RESULT=" + results.string());
  const auto files = std::filesystem::directory_iterator(results);
  ASSERT_NE(files, std::filesystem::directory_iterator());
  std::ifstream in(files->path());
  const std::string text(std::istreambuf_iterator<char>(in), {});
  for (const char* part : {R"("name":"colonies","thread":0,"calls":1)", R"("length":3323)", R"("gap":0)",
                           R"("tour_is_permutation":true)", R"("work":60)"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
}

TEST(AntColonyProgram, BadInputIsOneLineAndStatusTwo) {
  const std::string truncated = testing::TempDir() + "truncated.tsp";
  std::ofstream(truncated)
      << "NAME: t\nTYPE: TSP\nDIMENSION: 5\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n1 0 0\n2 1";
  for (const auto& [arguments, message] : std::initializer_list<std::pair<std::string, std::string>>{
           {"", "ant_colony: no instance; give --instance FILE\n"},
           {"--instance /absent", "/absent: No such file or directory; give a readable TSPLIB file\n"},
           {"--instance /usr", "/usr: is a directory; give a TSPLIB file\n"},
           {"--instance " + truncated,
            truncated + ":7: '2 1' is not a city; a city is its number and two coordinates\n"},
           {"--colonys 3", "ant_colony: unknown option '--colonys'; did you mean --colonies?\n"},
           {"--colonies 0",
            "ant_colony: --colonies '0' cannot be used; give a whole number from 1 to 10000000\n"},
           {"--pheromone list",
            "ant_colony: --pheromone 'list' cannot be used; give one of indexed, strings\n"}}) {
    const Finished run = ant_colony(arguments);
    EXPECT_EQ(run.status, 2);
    EXPECT_EQ(run.output, message);
  }
}

TEST(AntColonyProgram, FullDiskIsNoSuccess) {
  EXPECT_EQ(ant_colony(instance("burma14") + "--cycles 1 >/dev/full", "OMP_NUM_THREADS=1").status, 1);
}

TEST(AntColonyProgram, HelpIsStatusZero) {
  const Finished run = ant_colony("--help");
  EXPECT_EQ(run.status, 0);
  EXPECT_NE(run.output.find("--pheromone indexed|strings"), std::string::npos);
}

}  // namespace
