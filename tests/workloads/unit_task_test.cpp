// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <corescale/parallel_for/parallel_for.hpp>
#include <corescale/team/any_team.hpp>
#include <string>

#include "build_kind.hpp"
#include "program.hpp"
#include "unit_task/loops.hpp"

namespace {

using namespace unit_task;

template <Compute how, class Memory>
std::vector<std::uint8_t> written(const Task& task, const std::vector<std::uint8_t>& read) {
  std::vector<std::uint8_t> bytes(task.bytes_written);
  run_task<how, Memory>(task, read.data(), bytes.data());
  return bytes;
}

TEST(UnitTask, WritesWhatThePrintedOneDoes) {
  const std::vector<std::uint8_t> read{250, 3, 7, 0};
  using bytes = std::vector<std::uint8_t>;
  // C / R = 2 additions a byte; beyond R the last byte is repeated; a byte holds 8 bits.
  EXPECT_EQ((written<Compute::published, OwnMemory>({4, 6, 11}, read)), (bytes{252, 5, 9, 2, 2, 2}));
  EXPECT_EQ((written<Compute::published, OwnMemory>({4, 2, 11}, read)), (bytes{252, 5}));
  EXPECT_EQ((written<Compute::published, SharedMemory>({4, 6, 1024}, read)), (bytes{250, 3, 7, 0, 0, 0}));
  // Real: 11 = 3 + 3 + 3 + 2.
  EXPECT_EQ((written<Compute::real, OwnMemory>({4, 6, 11}, read)), (bytes{253, 6, 10, 2, 2, 2}));
  EXPECT_EQ((written<Compute::real, SharedMemory>({1, 2, 11}, read)), (bytes{5, 5}));
  EXPECT_EQ((written<Compute::real, OwnMemory>({0, 2, 11}, read)), (bytes{11, 11}));
}

/// The least of all runs in 5 ms, nine at least, so that what disturbs most of them does not count.
template <Compute how>
double ns_of(std::uint64_t operations) {
  std::vector<std::uint8_t> read(1024), write(1024);
  double least = 1e18, spent = 0;
  for (int run = 0; run < 9 || spent < 5e6; ++run) {
    const auto start = std::chrono::steady_clock::now();
    run_task<how, OwnMemory>({1024, 1024, operations}, read.data(), write.data());
    const std::chrono::duration<double, std::nano> passed = std::chrono::steady_clock::now() - start;
    least = std::min(least, passed.count());
    spent += passed.count();
  }
  return least;
}

TEST(UnitTask, RealComputationGrowsLinearlyFrom2To10To2To20) {
  const double fixed = ns_of<Compute::real>(0);
  const double one = (ns_of<Compute::real>(1 << 20) - fixed) / (1 << 20);
  for (int power = 10; power < 20; ++power) {
    const double operations = static_cast<double>(1 << power);
    const double line = fixed + one * operations;
    // Loops of a few turns end by a wrong guess of the processor, a dozen cycles for each of the 1024 bytes.
    const double guesses = 1024 * 15 * one, seen = ns_of<Compute::real>(1 << power);
    EXPECT_LT(seen, 3 * line + guesses)
        << "2^" << power;  // a machine that others use stretches a run, or its reference
    EXPECT_GT(seen, line / 3 - guesses) << "2^" << power;
  }
}

TEST(UnitTask, PublishedComputationIsFoldedByThisCompiler) {
#ifdef __clang__
  GTEST_SKIP() << "clang does not fold it";
#endif
  if (!fast) GTEST_SKIP() << "only optimisers fold it";
  EXPECT_EQ(ns_per_operation<Compute::published>(), 0);
  EXPECT_GT(ns_per_operation<Compute::real>(), 0.1);
  EXPECT_LT(ns_of<Compute::published>(std::uint64_t{1} << 60), 2 * ns_of<Compute::published>(1 << 10));
}

/// Of every row, small.
Shape small(const LoopRow& row, std::size_t threads) {
  return {.n = row.n / 16, .task = {64, 80, 128}, .threads = threads};
}

class EveryRow : public testing::TestWithParam<std::string> {
 public:
  static const LoopRow& row() { return *std::ranges::find(loops, GetParam(), &LoopRow::name); }

  static std::vector<std::string> names() {
    std::vector<std::string> all;
    for (const LoopRow& row : loops) all.emplace_back(row.name);
    return all;
  }
};
INSTANTIATE_TEST_SUITE_P(UnitTask, EveryRow, testing::ValuesIn(EveryRow::names()), [](const auto& one) {
  std::string name = one.param;
  std::erase(name, '-');
  return name;
});

TEST_P(EveryRow, IsRightUnderEveryPolicy) {
  constexpr std::size_t threads = 3;
  const auto loop = row().make(small(row(), threads));
  corescale::any_team team = corescale::make_team(threads, "pthread");
  for (const corescale::block_policy& policy : corescale::block_policies()) {
    loop->reset();
    corescale::parallel_for_blocks(
        team, std::uint64_t{0}, loop->size(), [&](auto begin, auto end) { loop->run(begin, end); },
        {.block = policy.needs_block ? 7U : 0U, .cost = loop->cost(), .policy = &policy});
    EXPECT_TRUE(loop->is_right()) << policy.name;
  }
}

TEST_P(EveryRow, ShowsAnIterationLeftOutAndOneTooMany) {
  Shape shape = small(row(), 1);
  shape.buffers = Buffers::iteration;
  const auto loop = row().make(shape);
  loop->reset();
  loop->run(1, loop->size());
  EXPECT_FALSE(loop->is_right());
  loop->run(0, 1);
  EXPECT_TRUE(loop->is_right());
  if (GetParam() == "unit-task") return;  // writes the same again
  loop->run(loop->size() / 2, loop->size());
  EXPECT_FALSE(loop->is_right());
}

TEST(EditDistance, IsThatOfTheBooks) {
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("flaw", "lawn"), 2U);
}

const std::string quick = "--repeat-for 0 --n 300 --operations 2048 ";

TEST(UnitTaskProgram, EverySystemBufferAndComputation) {
  for (const corescale::threading_system& one : corescale::threading_systems()) {
    if (!one.is_present() || (tsan && (one.name == "openmp" || one.name == "tbb"))) continue;
    for (const std::string buffers : {"thread", "iteration", "shared"})
      for (const std::string compute : {"real", "published"}) {
        const std::string threads = one.name == "serial" ? "1" : "3";
        const Finished run =
            run_program(UNIT_TASK,
                        quick + "--affinity free --block 5 --threading " + std::string(one.name) +
                            " --threads " + threads + " --buffers " + buffers + " --compute " + compute,
                        "");
        EXPECT_EQ(run.status, 0) << run.output;
        EXPECT_EQ(field(run.output, "every_iteration_once"), "true");
        EXPECT_EQ(field(run.output, "results_right"), "true");
        EXPECT_EQ(field(run.output, "claims"), "60");
        EXPECT_EQ(field(run.output, "policy"), "\"fixed\"");
      }
  }
}

TEST(UnitTaskProgram, EveryPolicy) {
  for (const corescale::block_policy& policy : corescale::block_policies()) {
    const std::string name(policy.name);
    const Finished run = run_program(
        UNIT_TASK, quick + "--threads 2 --policy " + name + (policy.needs_block ? " --block 16" : ""), "");
    EXPECT_EQ(run.status, 0) << run.output;
    EXPECT_EQ(field(run.output, "policy"), "\"" + name + "\"");
    EXPECT_GE(std::stod(field(run.output, "block")), 1) << run.output;
    EXPECT_GE(std::stod(field(run.output, "imbalance")), 1) << run.output;
  }
}

/// Taskflow's headers are in no Debian package: most builds lack them and say how to have them.
TEST(UnitTaskProgram, TaskflowItselfOrHowToHaveIt) {
  const Finished run = run_program(UNIT_TASK, quick + "--threads 3 --policy taskflow", "");
  if (lacks(run, "Taskflow", "CORESCALE_TASKFLOW")) return;
  EXPECT_EQ(run.status, 0) << run.output;
  EXPECT_EQ(field(run.output, "policy"), "\"taskflow\"");
  EXPECT_EQ(field(run.output, "threading").substr(0, 10), "\"Taskflow ");
  EXPECT_EQ(field(run.output, "every_iteration_once"), "true");
  EXPECT_EQ(field(run.output, "results_right"), "true");
}

TEST(UnitTaskProgram, TheFastestCallIsNoSlowerThanTheMean) {
  const Finished run = run_program(UNIT_TASK, "--repeat-for 20 --threads 2 --affinity free", "");
  EXPECT_LE(std::stod(field(run.output, "least_seconds")), std::stod(field(run.output, "seconds")));
  EXPECT_GT(std::stod(field(run.output, "least_seconds")), 0);
}

TEST(UnitTaskProgram, BlocksAndPoliciesInTurn) {
  const Finished run =
      run_program(UNIT_TASK, quick + "--threads 2 --affinity free --in-turn 1,7,auto,static", "");
  EXPECT_EQ(run.status, 0) << run.output;
  EXPECT_EQ(field(run.output, "every_iteration_once"), "true");
  EXPECT_EQ(field(run.output, "results_right"), "true");
  EXPECT_EQ(field(run.output, "at_once_1"), "1");
  EXPECT_EQ(field(run.output, "at_once_7"), "7");
  EXPECT_GE(std::stod(field(run.output, "at_once_static")), 150);  // 300 where one thread runs it all
  for (const std::string name : {"1", "7", "auto", "static"}) {
    EXPECT_GT(std::stod(field(run.output, "least_" + name)), 0) << name;
    EXPECT_GE(std::stod(field(run.output, "threads_used_" + name)), 1) << name;
    EXPECT_LE(std::stod(field(run.output, "least_" + name)), std::stod(field(run.output, "mean_" + name)));
  }
}

TEST(UnitTaskProgram, PausesBetweenCallsAreNotTimed) {
  const Finished run = run_program(
      UNIT_TASK, "--n 300 --operations 2048 --threads 2 --affinity free --repeat-for 20 --pause 10", "");
  EXPECT_EQ(run.status, 0) << run.output;
  EXPECT_EQ(field(run.output, "every_iteration_once"), "true");
  EXPECT_LE(std::stod(field(run.output, "repeats")), 2) << run.output;  // two pauses pass 20 ms
}

TEST(UnitTaskProgram, TicksAndSecondsAgree) {
  const Finished run = run_program(UNIT_TASK, "--repeat-for 50", "");
  const double ticks = std::stod(field(run.output, "ticks")),
               rate = std::stod(field(run.output, "ticks_per_second")),
               seconds = std::stod(field(run.output, "seconds"));
  EXPECT_NEAR(ticks / rate, seconds, 0.05 * seconds) << run.output;
  EXPECT_NEAR(std::stod(field(run.output, "ns_per_iteration")), seconds * 1e9 / 4096,
              1e-3 * seconds * 1e9 / 4096);
}

TEST(UnitTaskProgram, BadInputIsOneLineAndStatusTwo) {
  for (const std::string bad : {"--policy fixed",
                                "--compute published --read 0",
                                "--operations 1152921504606846976",
                                "--buffers iteration --write 1000000000000",
                                "--threading serial --threads 2",
                                "--loop nothing",
                                "--loop tiny --n 100000000000",
                                "--loop linear --n 4000000000",
                                "--loop streaming --n 4000000000",
                                "--loop edit-distances --n 4000000000",
                                "--loop tiny --read 5",
                                "--loop linear --compute published",
                                "--policy static --block 5",
                                "--policy taskflow --block 5",
                                "--in-turn 1,,2",
                                "--in-turn 0",
                                "--in-turn 1,1",
                                "--in-turn auto,4,auto",
                                "--in-turn 1,nothing",
                                "--in-turn fixed",
                                "--in-turn 16 --policy static",
                                "--in-turn 16 --block 4",
                                "--in-turn 16 --pause 3",
                                "--n 4611686018427387904 --operations 0 --repeat-for 1"}) {
    const Finished run = run_program(UNIT_TASK, bad, "");
    EXPECT_EQ(run.status, 2) << bad;
    EXPECT_EQ(std::ranges::count(run.output, '\n'), 1) << run.output;
  }
}

}  // namespace
