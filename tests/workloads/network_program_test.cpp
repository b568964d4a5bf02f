// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "build_kind.hpp"
#include "program.hpp"

namespace {

const std::string request = "--problem network --months 3 --iterations 5 --ants 1 --cycles 2 --orders 1200 ";

Finished network(const std::string& arguments, const std::string& environment = "OMP_NUM_THREADS=1",
                 const std::string& before = "") {
  return run_program(ANT_COLONY, request + arguments, environment, before);
}

std::string expected() {
  static const std::string solution = field(network("").output, "solution");
  return solution;
}

TEST(NetworkProgram, PlanIsTheSameForBuildsThreadsLooksAndHeaps) {
  ASSERT_EQ(expected().size(), 18U) << expected();
  std::set<std::string> looks{"--look buffer",
                              "--look key",
                              "--look measures",
                              "--look key --heap scalable",
                              "--look key --heap cache-aligned",
                              "--account"};
  for (const std::string threads : {"1", "2", "4"})
    for (const std::string parallel : {"openmp", "hybrid", "corescale"})
      for (const std::string& look : looks) {
        if (tsan && threads != "1" && parallel != "corescale") continue;
        if (parallel == "corescale" && look != "--look key") continue;
        const Finished run = network("--parallel " + parallel + " " + look, "OMP_NUM_THREADS=" + threads);
        if (run.output.find("cannot be used; give one of plain\n") != std::string::npos) continue;
        EXPECT_EQ(field(run.output, "solution"), expected()) << threads << parallel << look << run.output;
        EXPECT_EQ(run.status, 0);
      }
  EXPECT_NE(field(network("--seed 2").output, "solution"), expected());
}

TEST(NetworkProgram, PlanIsTheSameUnderEveryAllocator) {
  if (sanitized) GTEST_SKIP() << "a sanitizer brings its own allocator";
  for (const std::string library :
       {"libmimalloc.so.2", "libjemalloc.so.2", "libtcmalloc_minimal.so.4", "libtbbmalloc_proxy.so.2"})
    for (const std::string parallel : {"openmp", "corescale"}) {
      const Finished run = network("--parallel " + parallel, "OMP_NUM_THREADS=2 LD_PRELOAD=" + library);
      if (run.output.find("cannot be preloaded") != std::string::npos) continue;
      EXPECT_EQ(field(run.output, "solution"), expected()) << library << run.output;
    }
#ifdef ANT_COLONY_TBBMALLOC
  EXPECT_EQ(field(run_program(ANT_COLONY_TBBMALLOC, request, "OMP_NUM_THREADS=2").output, "solution"),
            expected());
#endif
}

class Ranks : public testing::TestWithParam<std::string> {
 protected:
  static Finished launch(const std::string& ranks, const std::string& arguments,
                         const std::string& threads = "1") {
    return network(
        arguments, "OMP_NUM_THREADS=" + threads,
        "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1 mpirun "
        "--bind-to none --oversubscribe -n " +
            ranks);
  }
  void SetUp() override {
    if (sanitized) GTEST_SKIP() << "Open MPI's own leaks and races";
    if (std::system("command -v mpirun >/dev/null") != 0) GTEST_SKIP() << "mpirun is not installed";
  }
};

/// No more than one solution a month is sent, by whoever won it, and its size does not depend on the number of ranks.
TEST_P(Ranks, PlanIsTheSameAndAtMostOneSolutionAMonthIsSent) {
  std::set<std::string> sizes;
  for (const std::string ranks : {"2", "3", "5"}) {
    const Finished run = launch(ranks, "--parallel " + GetParam(), ranks == "2" ? "2" : "1");
    EXPECT_EQ(field(run.output, "solution"), expected()) << ranks << run.output;
    EXPECT_EQ(field(run.output, "ranks"), ranks);
    const double sends = std::stod(field(run.output, "sends")),
                 bytes = std::stod(field(run.output, "bytes_sent"));
    std::cout << ranks << " ranks: " << sends << " sends of 3 months, " << bytes << " bytes\n";
    EXPECT_LE(sends, 3);
    EXPECT_LE(bytes, sends * std::stod(field(run.output, "most_bytes_sent")));
    if (sends > 0) sizes.insert(field(run.output, "most_bytes_sent"));
  }
  EXPECT_FALSE(sizes.empty()) << "rank 0 won every month of every launch: another seed shows more";
}

INSTANTIATE_TEST_SUITE_P(Builds, Ranks, testing::Values("hybrid", "corescale"),
                         [](const auto& build) { return build.param; });

TEST_F(Ranks, NothingIsSentWhereRankZeroWins) {
  const Finished run = launch("2", "--parallel hybrid --iterations 1");  // the second rank has none
  EXPECT_EQ(run.status, 0) << run.output;
  const Finished one = launch("6", "--parallel hybrid --iterations 5");
  EXPECT_EQ(field(one.output, "solution"), expected()) << one.output;
}

/// Rank 1 is killed while both search, for what would take minutes.
TEST_F(Ranks, ARankThatDiesEndsTheLaunchAndLeavesNoHalfResult) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "network_dies";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const std::string dying =
      "bash -c '[ $OMPI_COMM_WORLD_RANK = 0 ] || (sleep 2; kill -9 $$) & exec \"$@\"' dying ";
  const std::string file = (folder / "plan.csv").string();
  const Finished run =
      run_program(ANT_COLONY, "--problem network --parallel hybrid --iterations 10000 --solution " + file,
                  "OMP_NUM_THREADS=1",
                  "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun --bind-to none "
                  "--oversubscribe -n 2 " +
                      dying);
  EXPECT_NE(run.status, 0) << run.output;
  EXPECT_NE(run.output.find("signal 9"), std::string::npos) << run.output;
  EXPECT_TRUE(std::filesystem::is_empty(folder)) << "something was left behind";
}

TEST_F(Ranks, TheStudysBaselineIsOneProcess) {
  const Finished run = launch("2", "--parallel openmp");
  EXPECT_NE(
      run.output.find("--parallel openmp is one process, and these are 2 ranks; give --parallel hybrid"),
      std::string::npos)
      << run.output;
  EXPECT_NE(run.status, 0);
}

TEST(NetworkProgram, TimesAndSharesComeOutOfEveryRun) {
  const auto results = std::filesystem::path(testing::TempDir()) / "network_results";
  std::filesystem::remove_all(results);
  std::filesystem::create_directories(results);
  const Finished run = network("", "OMP_NUM_THREADS=1 CORESCALE_RESULT=" + results.string());
  for (const char* name :
       {"serial_share", "merge_share", "output_share", "month_3_serial_share", "month_3_seconds"}) {
    EXPECT_GE(std::stod(field(run.output, name)), 0) << name;
    EXPECT_LT(std::stod(field(run.output, name)), 60) << name;
  }
  ASSERT_NE(std::filesystem::directory_iterator(results), std::filesystem::directory_iterator());
  std::ifstream in(std::filesystem::directory_iterator(results)->path());
  const std::string text(std::istreambuf_iterator<char>(in), {});
  for (const char* part :
       {R"("name":"month","thread":0,"calls":3)", R"("name":"iteration","thread":0,"calls":15)",
        R"("name":"merge","thread":0,"calls":3)", R"("name":"output","thread":0,"calls":3)"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
}

/// Tables of a person, in the public set's form.
class Data : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(folder);
    ASSERT_EQ(
        run_program(ANT_COLONY, "--problem network --orders 120 --write-data " + folder.string(), "").status,
        0);
  }

  /// Replaces the first `what` in a file.
  void change(const std::string& file, const std::string& what, const std::string& with) const {
    std::ifstream in(folder / file);
    std::string text(std::istreambuf_iterator<char>(in), {});
    const std::size_t at = text.find(what);
    ASSERT_NE(at, std::string::npos) << what;
    std::ofstream(folder / file) << text.replace(at, what.size(), with);
  }

  /// Line `number` of a file, the headings being the first.
  std::string line(const std::string& file, int number) const {
    std::ifstream in(folder / file);
    std::string text;
    while (number-- > 0) std::getline(in, text);
    return text;
  }

  void refuses(const std::string& message, const std::string& arguments = "") const {
    const Finished run = run_program(
        ANT_COLONY, "--problem network --iterations 1 --months 1 --data " + folder.string() + " " + arguments,
        "");
    EXPECT_EQ(run.status, 2) << run.output;
    EXPECT_EQ(std::count(run.output.begin(), run.output.end(), '\n'), 1) << run.output;
    EXPECT_NE(run.output.find(message), std::string::npos) << run.output;
  }

  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "network_data";
};

TEST_F(Data, IsReadBackAsItWasWritten) {
  const std::string of = "--problem network --iterations 1 --months 2 --orders 120 ";
  EXPECT_EQ(field(run_program(ANT_COLONY, of + "--data " + folder.string(), "").output, "solution"),
            field(run_program(ANT_COLONY, of, "").output, "solution"));
}

TEST_F(Data, TakesTheFormThatSpreadsheetsExport) {
  const std::string of = "--problem network --iterations 1 --months 2 --data " + folder.string();
  const std::string before = field(run_program(ANT_COLONY, of, "").output, "solution");
  change("WhCapacities.csv", "Plant ID,Daily Capacity", "\xEF\xBB\xBFPlant ID,Daily Capacity ");
  change("FreightRates.csv", ",minimum cost,rate,", ",\"Minimum  Cost\",rate,");
  change("FreightRates.csv", ",AIR,", ",AIR   ,");
  const std::string first = line("WhCosts.csv", 2);
  change("WhCosts.csv", first, first.substr(0, 8) + "\"$" + first.substr(8) + " \"");
  EXPECT_EQ(field(run_program(ANT_COLONY, of, "").output, "solution"), before);
}

TEST_F(Data, BadRowsAreNamedInOneLine) {
  change("OrderList.csv", ",Weight\n", ",Wieght\n");
  refuses("OrderList.csv:1: no column 'Weight'; name it in the first line");
  SetUp();
  const std::string row = line("OrderList.csv", 5);
  const std::string weight = row.substr(row.rfind(',') + 1);
  change("OrderList.csv", row, row.substr(0, row.rfind(',') + 1) + "-" + weight);
  refuses("OrderList.csv:5: Weight -" + weight + " is negative; correct it");
  SetUp();
  change("OrderList.csv", line("OrderList.csv", 4), line("OrderList.csv", 3));
  refuses("OrderList.csv:4: order 1447000001.7 is there twice, first in line 3; remove one");
  SetUp();
  const std::string rate = line("FreightRates.csv", 2);
  change("FreightRates.csv", rate, "V444_0,PORT01,PORT09,10,DTD,2,,AIR,1");
  refuses("FreightRates.csv:2: no rate; fill the cell, or remove the line");
  SetUp();
  std::filesystem::remove(folder / "PlantPorts.csv");
  refuses("PlantPorts.csv: No such file or directory; give a readable CSV file");
}

TEST_F(Data, AnOrderThatNobodyCanServeIsNamed) {
  std::string row = line("OrderList.csv", 3);
  const std::size_t product = row.find(",16");
  change("OrderList.csv", row, row.substr(0, product) + ",99" + row.substr(product + 3));
  refuses("OrderList.csv:3: order 1447000001.7: no warehouse holds product 99");
  SetUp();
  std::ofstream(folder / "FreightRates.csv")
      << "Carrier,orig_port_cd,dest_port_cd,max_wgh_qty,svc_cd,minimum cost,rate,mode_dsc,tpt_day_cnt\n"
         "V,PORT01,ELSEWHERE,10,DTD,2,2,AIR,1\n";
  refuses("no warehouse that holds it has capacity and a lane with a rate to PORT09 for its weight");
}

TEST_F(Data, TooManyOrdersAreSaidWithTheShortfall) {
  std::ofstream few(folder / "WhCapacities.csv");
  few << "Plant ID,Daily Capacity\n";
  for (int w = 1; w <= 19; ++w) few << (w < 10 ? "PLANT0" : "PLANT") << w << "," << (w < 5 ? 1 : 0) << "\n";
  few.close();
  std::ofstream orders(folder / "OrderList.csv");
  orders << "Order ID,Order Date,Service Level,Customer,Product ID,Destination Port,Unit quantity,Weight\n";
  std::ofstream products(folder / "ProductsPerPlant.csv");
  products << "Plant Code,Product ID\n";
  for (int w = 1; w < 5; ++w) products << "PLANT0" << w << ",P\n";
  for (int k = 0; k < 14; ++k) orders << k << ",2013-0" << k / 7 + 1 << "-01,CRF,C,P,PORT09,1,1\n";
  orders.close(), products.close();
  refuses(
      "month 1 (order 0 and on): 3 of 7 orders find no place in the warehouses that may serve them; raise "
      "the "
      "capacities in WhCapacities.csv by 3 at least");
}

TEST_F(Data, AResultThatCannotBeWrittenIsRefusedBeforeTheSearch) {
  refuses("/absent/plan.csv: cannot be written: No such file or directory; give a file in a folder",
          "--solution /absent/plan.csv");
  EXPECT_FALSE(std::filesystem::exists("/absent"));
}

TEST(NetworkProgram, BadOptionsAreOneLine) {
  for (const auto& [arguments, message] : std::initializer_list<std::pair<std::string, std::string>>{
           {"--goal speed=1",
            "ant_colony: --goal 'speed=1' cannot be used; give cost, emissions, energy and time"},
           {"--goal cost=0", "ant_colony: --goal 'cost=0' is nothing; give one measure a worth"},
           {"--goal cost=-1", "ant_colony: --goal 'cost=-1' cannot be used"},
           {"--orders 100", "ant_colony: --orders 100 are no equal months; give a multiple of 12"},
           {"--parallel corescale --account", "ant_colony: --account is of the study's program"}}) {
    const Finished run = network(arguments);
    EXPECT_EQ(run.status, 2) << run.output;
    EXPECT_EQ(run.output.rfind(message, 0), 0U) << run.output;
  }
}

}  // namespace
