// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <chrono>

#include "build_kind.hpp"
#include "claim_simulator/run_case.hpp"
#include "program.hpp"

namespace {

using namespace claim_simulator;

/// Cores alike, and forks that take nothing to speak of, so that times can be told by hand.
Case plain(double threads, double block) {
  Case one{.block = block, .threads = threads, .unevenness = 0};
  one.costs.fork_hot = one.costs.fork_thread = 1e-3;
  return one;
}

double ns(const Case& one) { return run_case(one).outcome.ns; }

TEST(ClaimSimulator, OneThreadClaimsFromItsOwnLine) {
  const Case one = plain(1, 16);
  // Its first block was claimed before the loop began; the next claim fetches the line; the last finds the counter dry.
  EXPECT_NEAR(ns(one), 4096 * 700 + 80 + 255 * 10, 1e-6);
}

TEST(ClaimSimulator, OneCounterServesOneClaimAtATime) {
  Case one = plain(64, 1);
  one.iteration_ns = 100;
  EXPECT_NEAR(ns(one), 4096 * 80, 0.03 * 4096 * 80) << "the threads wait for the line, not for their work";
  one.iteration_ns = 64 * 80 * 10;
  EXPECT_NEAR(ns(one), 64 * (64 * 80 * 10 + 80), 0.03 * 64 * 64 * 80 * 10)
      << "the line waits for the threads";
}

TEST(ClaimSimulator, ABlockBeyondTheShareLeavesThreadsIdle) {
  EXPECT_NEAR(ns(plain(4, 1024)), 1024 * 700, 1000);
  EXPECT_NEAR(ns(plain(4, 2048)), 2048 * 700, 1000);
}

TEST(ClaimSimulator, TheBestBlockTakesLeastOfAllPowersOfTwo) {
  for (const double unevenness : {0.0, 0.2}) {
    Case one = plain(4, 0);
    one.unevenness = unevenness;
    one.policy = best_block;
    const Answer best = run_case(one);
    one.policy = "fixed";
    for (one.block = 1; one.block <= one.n; one.block *= 2) EXPECT_LE(best.outcome.ns, ns(one)) << one.block;
    one.block = static_cast<double>(best.plan.largest);
    EXPECT_EQ(best.outcome.ns, ns(one));
    if (unevenness > 0) {
      EXPECT_LT(best.plan.largest, 512U);
    } else {
      EXPECT_EQ(best.plan.largest, 1024U) << "even cores lose nothing by a share each";
    }
  }
}

TEST(ClaimSimulator, MoreL3DomainsMakeACounterDearer) {
  Case one = plain(32, 1);
  one.iteration_ns = 100;
  const double together = ns(one);
  one.l3_domains = 4;
  const double compact = ns(one);
  EXPECT_GT(compact, 1.1 * together);
  one.placement = "scattered";
  EXPECT_GT(ns(one), 1.5 * compact) << "each claim comes from another group";
}

TEST(ClaimSimulator, ACounterForEachGroupMakesSingleIterationsIndependentOfTheGroups) {
  std::vector<double> times;
  for (const double groups : {1, 2, 4, 8, 16, 32}) {
    Case one = plain(8 * groups, 1);  // eight threads a group, and the same work for each thread
    one.n = 1024 * one.threads;
    one.l3_domains = groups;
    one.counters = "group";
    times.push_back(ns(one));
  }
  const auto [least, most] = std::ranges::minmax(times);
  EXPECT_LE(most, 1.03 * least);
}

TEST(ClaimSimulator, VaryingIterationsHaveTheMeanAndTheVariationAskedFor) {
  const SimulatedLoop loop(1 << 16, 50, 0.5, 1);
  double squares = 0;
  for (std::uint64_t i = 0; i < loop.size(); ++i) squares += std::pow(loop.ns(i, i + 1) / 50 - 1, 2);
  EXPECT_NEAR(loop.ns(0, loop.size()), 50.0 * (1 << 16), 1e-3);
  EXPECT_NEAR(std::sqrt(squares / (1 << 16)), 0.5, 0.02);
}

TEST(ClaimSimulator, SleepingThreadsStartLater) {
  Case one = plain(2, 16);
  one.costs.fork_cold = 50'000;
  const double spinning = ns(one);
  one.threads_are = "sleeping";
  EXPECT_NEAR(ns(one) - spinning, 25'000 + 12'500, 16 * 700) << "half on the way out, shared, and half back";
}

class EveryPolicy : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(ClaimSimulator, EveryPolicy, testing::ValuesIn(policy_names()),
                         [](const auto& row) { return row.param; });

TEST_P(EveryPolicy, IsNoFasterThanItsCoresAllow) {
  const corescale::block_policy* policy = corescale::find_block_policy(GetParam());
  const double block = policy != nullptr && policy->needs_block ? 3 : 0;
  for (const double threads : {1, 2, 7, 64, 256})
    for (const double groups : {1, 4, 32}) {
      if (groups > threads) continue;
      Case one = plain(threads, block);
      one.policy = GetParam();
      one.l3_domains = groups;
      one.variation = 0.5;
      const Answer answer = run_case(one);
      EXPECT_GE(answer.outcome.ns, 0.999 * 4096 * 700 / threads) << threads << " threads, " << groups;
      EXPECT_NEAR(answer.outcome.times.iterations(), 4096, 0) << threads << " threads, " << groups;
    }
}

TEST(ClaimSimulator, AMillionClaimsTakeASecond) {
  if (!fast) GTEST_SKIP() << "only optimised";
  Case one = plain(256, 1);
  one.n = 1e6;
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(run_case(one).outcome.claims, 1'000'000U);
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), 2);
}

TEST(ClaimSimulatorProgram, SaysThatItsTimesAreSimulated) {
  const Finished one = run_program(CLAIM_SIMULATOR, "--threads 256 --l3-domains 32", "");
  EXPECT_EQ(one.status, 0);
  EXPECT_EQ(field(one.output, "origin"), "\"simulated\"") << one.output;
  EXPECT_EQ(field(one.output, "simulated"), "1");
}

TEST(ClaimSimulatorProgram, ATableOfCasesGivesALineForEach) {
  const Finished table = run_program(CLAIM_SIMULATOR, "--policy fixed --cases -", "",
                                     "printf 'threads,block\\n2,4\\n8,16\\n' |");
  EXPECT_EQ(table.status, 0);
  EXPECT_EQ(std::ranges::count(table.output, '\n'), 3) << table.output;
}

/// Needs hwloc, which draws machines that are not here too.
TEST(ClaimSimulatorProgram, AMachineByItsDescription) {
  struct Machine {
    std::string arguments, threads, groups;
  };
  for (const Machine& one :
       {Machine{"'package:1 l3:8 core:4 pu:2'", "32", "8"},
        Machine{"'package:2 l3:1 core:24 pu:1'", "48", "2"},
        Machine{"'package:2 l3:1 core:24 pu:1' --threads 24", "24", "1"},
        Machine{"'package:1 l3:8 core:4 pu:1' --threads 8", "8", "2"},
        Machine{"'package:1 l3:8 core:4 pu:1' --threads 8 --placement scattered", "8", "8"}}) {
    const Finished run = run_program(CLAIM_SIMULATOR, "--policy static --topology " + one.arguments, "");
    if (run.output.find("without hwloc") != std::string::npos) GTEST_SKIP() << run.output;
    EXPECT_EQ(run.status, 0) << run.output;
    EXPECT_EQ(field(run.output, "threads"), one.threads) << one.arguments;
    EXPECT_EQ(field(run.output, "l3_domains"), one.groups) << one.arguments;
  }
}

TEST(ClaimSimulatorProgram, AMachineWithoutCoresIsOneLine) {
  for (const std::string bad :
       {"'package:0'", "'nonsense'", "'core:2 pu:1' --threads 3", "'package:1 core:0 pu:1'"}) {
    const Finished run = run_program(CLAIM_SIMULATOR, "--topology " + bad, "");
    EXPECT_EQ(run.status, 2) << run.output;
    EXPECT_EQ(std::ranges::count(run.output, '\n'), 1) << run.output;
    EXPECT_NE(run.output.find("topology"), std::string::npos) << run.output;
  }
}

TEST(ClaimSimulatorProgram, ATableMayBeginWithAByteOrderMarkAndHaveBlanks) {
  const Finished table = run_program(CLAIM_SIMULATOR, "--policy fixed --cases -", "",
                                     "printf '\\357\\273\\277threads, block\\n2, 4\\n' |");
  EXPECT_EQ(table.status, 0) << table.output;
}

struct Refused {
  std::string arguments, said;
  std::string table = "";
};

class EveryRefusal : public testing::TestWithParam<Refused> {};
INSTANTIATE_TEST_SUITE_P(
    ClaimSimulatorProgram, EveryRefusal,
    testing::Values(Refused{"--threads 0", "threads '0' cannot be used"},
                    Refused{"--l3-domains 3", "more L3 domains than threads"},
                    Refused{"--policy fixed", "lacks its block"}, Refused{"--counters group", "give --block"},
                    Refused{"--iteration-ns x", "iteration-ns 'x' cannot be used"},
                    Refused{"--variation 1 --n 9000000000", "more than 2^26"},
                    Refused{"--policy fixed --block 1 --n 9007199254740992", "more than 2^26 claims"},
                    Refused{"--cases /nowhere", "cannot be read"}, Refused{"--cases /tmp", "cannot be read"},
                    Refused{"--cases -", "stdin:1: two columns are named 'threads'",
                            "threads,threads\\n2,4\\n"},
                    Refused{"--cases -", "stdin:3: block '0' cannot be used", "threads,block\\n2,1\\n2,0\\n"},
                    Refused{"--cases -", "stdin:1: no column is named 'blok'", "blok\\n1\\n"},
                    Refused{"--cases -", "stdin:2: 1 values", "block,threads\\n1\\n"},
                    Refused{"--policy fixed --cases -", "stdin:3: policy fixed lacks", "block\\n1\\n0\\n"},
                    Refused{"--cases -", "stdin:2: policy 'best'", "policy\\nbest\\n"}));

TEST_P(EveryRefusal, IsOneLineAndExitStatusTwo) {
  const Refused& row = GetParam();
  const Finished seen = run_program(CLAIM_SIMULATOR, row.arguments, "", "printf '" + row.table + "' |");
  EXPECT_EQ(seen.status, 2);
  EXPECT_NE(seen.output.find(row.said), std::string::npos) << seen.output;
  EXPECT_EQ(std::ranges::count(seen.output, '\n'), 1) << "half a table is none: " << seen.output;
}

}  // namespace
