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

/// Lanes take a limited weight: with 12 candidates an order, no ant of most of these finds a plan, and all routes are looked at.
TEST(NetworkProgram, EveryGeneratedNetworkIsPlannedWhole) {
  for (int seed = 1; seed <= (sanitized ? 4 : 10); ++seed) {
    const Finished run = run_program(
        ANT_COLONY, "--problem network --parallel corescale --iterations 1 --seed " + std::to_string(seed),
        "");
    EXPECT_EQ(run.status, 0) << seed << run.output;
    EXPECT_EQ(field(run.output, "no_plan_is_below_its_bound"), "true") << seed << run.output;
  }
}

/// Nothing of seed 3 is planned with the candidates alone.
TEST(NetworkProgram, PlanOverAllRoutesIsTheSameForEveryBuild) {
  const std::string three = "--problem network --seed 3 --months 1 --iterations 2 ";
  const std::string plan =
      field(run_program(ANT_COLONY, three + "--parallel corescale", "").output, "solution");
  ASSERT_EQ(plan.size(), 18U) << plan;
  for (const std::string rest :
       {"--look buffer", "--look key", "--look measures", "--routes 1000 --parallel corescale"})
    EXPECT_EQ(field(run_program(ANT_COLONY, three + rest, "OMP_NUM_THREADS=1").output, "solution"), plan)
        << rest;
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
  EXPECT_EQ(sizes.size(), 1U) << "none: rank 0 won every month of every launch, another seed shows more";
}

INSTANTIATE_TEST_SUITE_P(Builds, Ranks, testing::Values("hybrid", "corescale"),
                         [](const auto& build) { return build.param; });

TEST_F(Ranks, NothingIsSentWhereRankZeroWins) {
  const Finished run = launch("2", "--parallel hybrid --iterations 5");  // its winners are iterations 0 and 1
  EXPECT_EQ(field(run.output, "solution"), expected()) << run.output;
  EXPECT_EQ(field(run.output, "sends"), "0") << run.output;
  EXPECT_EQ(field(run.output, "bytes_sent"), "0");
}

TEST_F(Ranks, OneWithoutIterationsWinsNothing) {
  const Finished one = launch("6", "--parallel hybrid --iterations 5");  // the first rank has none
  EXPECT_EQ(field(one.output, "solution"), expected()) << one.output;
  EXPECT_EQ(field(one.output, "sends"), "3") << one.output;
}

/// Two ranks of one thread each are as balanced as one rank of two.
TEST_F(Ranks, ImbalanceIsThatOfAllRanks) {
  for (const std::string parallel : {"hybrid", "corescale"}) {
    const Finished run = launch("2", "--parallel " + parallel + " --iterations 4 --orders 9216");
    EXPECT_GE(std::stod(field(run.output, "imbalance")), 0) << parallel << run.output;
    EXPECT_LT(std::stod(field(run.output, "imbalance")), 0.95) << parallel << run.output;
  }
}

/// Of one iteration rank 0 has none, so that it waits for the whole search of the other: no part of the merge, and half of what
/// the two ranks have of time.
TEST_F(Ranks, WaitingForTheSlowestRankIsNoMerge) {
  for (const std::string parallel : {"hybrid", "corescale"}) {
    const Finished run = launch("2", "--parallel " + parallel + " --iterations 1 --cycles 8 --orders 9216");
    ASSERT_EQ(run.status, 0) << run.output;
    const double wait = std::stod(field(run.output, "wait_share")),
                 merge = std::stod(field(run.output, "merge_share"));
    EXPECT_GT(wait, 0.01) << parallel << run.output;
    EXPECT_LT(wait, 0.75) << parallel << ": that of one rank? " << run.output;
    EXPECT_GT(merge, 0) << parallel;
    EXPECT_LT(wait + merge, 1) << parallel;
    if (parallel == "hybrid") {
      EXPECT_LT(merge, wait) << run.output;
      EXPECT_GT(std::stod(field(run.output, "month_2_wait_share")), 0.01) << run.output;
    }
  }
}

/// Rank 1 begins a month while rank 0 still makes the result of the one before.
TEST_F(Ranks, NoShareOfAMonthIsNegative) {
  const Finished run = launch("2", "--parallel hybrid --iterations 2");
  for (const std::string month : {"1", "2", "3"})
    for (const std::string share : {"serial_share", "imbalance", "wait_share", "merge_share", "cores_busy"})
      EXPECT_GE(std::stod(field(run.output, "month_" + month + "_" + share)), 0) << share << run.output;
  EXPECT_LE(std::stod(field(run.output, "cores_busy")), 2) << run.output;
}

TEST_F(Ranks, AnAccountIsOfAllRanks) {
  const Finished one = network("--parallel hybrid --account"),
                 two = launch("2", "--parallel hybrid --account");
  EXPECT_EQ(field(two.output, "allocations_per_iteration"), field(one.output, "allocations_per_iteration"))
      << two.output;
}

TEST_F(Ranks, AMonthWithoutAPlanEndsAllInOneLine) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "network_no_plan";
  std::filesystem::remove_all(folder);
  ASSERT_EQ(
      run_program(ANT_COLONY, "--problem network --orders 120 --write-data " + folder.string(), "").status,
      0);
  std::ofstream(folder / "FreightRates.csv")
      << "Carrier,orig_port_cd,dest_port_cd,max_wgh_qty,svc_cd,minimum cost,rate,mode_dsc,tpt_day_cnt\n"
         "V,PORT01,PORT09,150,DTD,2,2,AIR,1\n";
  std::ofstream ports(folder / "PlantPorts.csv");
  ports << "Plant Code,Port\n";
  for (int w = 1; w <= 19; ++w) ports << (w < 10 ? "PLANT0" : "PLANT") << w << ",PORT01\n";
  ports.close();
  for (const std::string parallel : {"hybrid", "corescale"}) {
    const Finished run = launch("2", "--parallel " + parallel + " --data " + folder.string());
    const std::string line = "no ant found room for all its orders on the lanes";
    EXPECT_NE(run.status, 0);
    const std::size_t at = run.output.find(line);
    EXPECT_NE(at, std::string::npos) << run.output;
    EXPECT_EQ(run.output.find(line, at + 1), std::string::npos) << run.output;
  }
}

/// A node that lacks the tables, or has others, ends the launch in one line: the other rank does not wait for ever.
TEST_F(Ranks, TablesThatARankLacksOrThatDifferEndAll) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "network_differs";
  std::filesystem::remove_all(folder);
  const std::string write = "--problem network --orders 120 --write-data ";
  ASSERT_EQ(run_program(ANT_COLONY, write + (folder / "one").string(), "").status, 0);
  ASSERT_EQ(run_program(ANT_COLONY, write + (folder / "two").string() + " --seed 2", "").status, 0);
  for (const auto& [other, line] : std::initializer_list<std::pair<std::string, std::string>>{
           {"absent", "OrderList.csv: No such file or directory; give a readable CSV file"},
           {"two", "the ranks have different tables or options; give all nodes the same"}}) {
    const std::string rank =
        "--problem network --parallel hybrid --iterations 1 --data " + folder.string() + "/";
    const Finished run = run_program(
        ANT_COLONY, rank + "one : -n 1 " + ANT_COLONY + " " + rank + other, "OMP_NUM_THREADS=1",
        "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1 mpirun "
        "--bind-to none --oversubscribe -n 1");
    EXPECT_NE(run.status, 0);
    EXPECT_NE(run.output.find(line), std::string::npos) << run.output;
  }
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
       {"serial_share", "imbalance", "wait_share", "merge_share", "output_share", "month_3_serial_share",
        "month_3_imbalance", "month_3_wait_share", "month_3_merge_share", "month_3_seconds"}) {
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

TEST(NetworkProgram, ThreadsAreThoseThatTheLimitLeaves) {
  for (const std::string parallel : {"openmp", "corescale"}) {
    const Finished run = network("--parallel " + parallel, "OMP_NUM_THREADS=2 OMP_THREAD_LIMIT=1");
    EXPECT_EQ(field(run.output, "threads"), "1") << run.output;
  }
}

TEST(NetworkProgram, BadOptionsAreOneLine) {
  for (const auto& [arguments, message] : std::initializer_list<std::pair<std::string, std::string>>{
           {"--goal speed=1",
            "ant_colony: --goal 'speed=1' cannot be used; give cost, emissions, energy and time, each once,"},
           {"--goal cost=1,cost=2", "ant_colony: --goal 'cost=1,cost=2' cannot be used"},
           {"--goal cost=0", "ant_colony: --goal 'cost=0' is nothing; give one measure a worth"},
           {"--goal cost=1e-8", "ant_colony: --goal 'cost=1e-8' cannot be used"},
           {"--goal cost=-1", "ant_colony: --goal 'cost=-1' cannot be used"},
           {"--orders 100", "ant_colony: --orders 100 are no equal months; give a multiple of 12"},
           {"--parallel corescale --account", "ant_colony: --account is of the study's program"},
           {"--parallel corescale --look measures",
            "ant_colony: --look and --heap are of the study's program"}}) {
    const Finished run = network(arguments);
    EXPECT_EQ(run.status, 2) << run.output;
    EXPECT_EQ(run.output.rfind(message, 0), 0U) << run.output;
  }
}

}  // namespace
