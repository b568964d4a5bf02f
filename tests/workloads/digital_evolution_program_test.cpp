// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "build_kind.hpp"
#include "program.hpp"

namespace {

Finished digital_evolution(const std::string& arguments,
                           const std::string& environment = "OMP_NUM_THREADS=1") {
  return run_program(DIGITAL_EVOLUTION, arguments, environment);
}

double number(const Finished& run, const std::string& name) { return std::stod(field(run.output, name)); }

const std::string small =
    "--width 7 --height 9 --instructions-per-message 20 --generations " + std::string(fast ? "60 " : "18 ");

TEST(DigitalEvolutionProgram, PrintsOneJsonLine) {
  const Finished run = digital_evolution(small);
  EXPECT_EQ(run.status, 0) << run.output;
  EXPECT_EQ(run.output.find('\n'), run.output.size() - 1);
  EXPECT_EQ(field(run.output, "threads"), "1");
  EXPECT_EQ(field(run.output, "messages_balance"), "true");
  EXPECT_EQ(field(run.output, "resource_balances"), "true");
  EXPECT_EQ(number(run, "messages_sent"), number(run, "messages_received") + number(run, "messages_dropped") +
                                              number(run, "messages_in_flight"));
  for (const char* name :
       {"seconds", "cell_updates_per_second", "peak_memory_bytes", "births", "messages_received",
        "messages_dropped", "messages_in_flight", "resource_harvested", "resource_spent"})
    EXPECT_GT(number(run, name), 0) << name;
  EXPECT_NEAR(number(run, "cell_updates_per_second") * number(run, "seconds"), 63 * (fast ? 60 : 18), 1e-6);
}

TEST(DigitalEvolutionProgram, StateIsTheSameForThreadsAndSchedules) {
  const std::string expected = field(digital_evolution(small).output, "state_hash");
  EXPECT_EQ(expected.size(), 18U) << expected;
  for (const std::string threads : {"1", "2", "4"})
    for (const std::string schedule : {"static", "static,1", "dynamic,2", "guided"}) {
      if (tsan && threads != "1") continue;
      const Finished run =
          digital_evolution(small, "OMP_NUM_THREADS=" + threads + " OMP_SCHEDULE=" + schedule);
      EXPECT_EQ(run.status, 0);
      EXPECT_EQ(field(run.output, "state_hash"), expected) << threads << schedule << run.output;
#ifdef _OPENMP
      EXPECT_EQ(field(run.output, "threads"), threads);
#endif
    }
  for (const char* other : {"--seed 2", "--no-selection", "--badges 16", "--instructions-per-message 21",
                            "--width 8", "--generations 17"})
    EXPECT_NE(field(digital_evolution(small + other).output, "state_hash"), expected) << other;
}

// As Hoard's: a program that asks an allocator for over-aligned memory by operator new ends in bad_alloc there.
TEST(DigitalEvolutionProgram, RunsUnderAnAllocatorWithoutAlignedNew) {
  if (!fast) GTEST_SKIP() << "a sanitizer brings its own allocator";
  const Finished own = digital_evolution(small);
  const Finished run = digital_evolution(small, "OMP_NUM_THREADS=2 LD_PRELOAD=" NO_ALIGNED_NEW);
  EXPECT_EQ(run.status, 0) << run.output;
  EXPECT_EQ(field(run.output, "state_hash"), field(own.output, "state_hash"));
}

TEST(DigitalEvolutionProgram, AccountChangesNothingButSaysTheShare) {
  const std::string request = small + "--generations " + (fast ? "400" : "40");
  const Finished plain = digital_evolution(request), run = digital_evolution(request + " --account");
  EXPECT_EQ(run.status, 0) << run.output;
  EXPECT_EQ(field(run.output, "state_hash"), field(plain.output, "state_hash"));
  EXPECT_EQ(plain.output.find("malloc_share"), std::string::npos);
  EXPECT_GT(number(run, "malloc_share"), 0.02);
  EXPECT_LT(number(run, "malloc_share"), 0.98);
  EXPECT_GT(number(run, "malloc_share_standard_error"), 0);
  EXPECT_GT(number(run, "allocations_per_cell_update"), 50);
  EXPECT_GT(number(run, "bytes_per_allocation"), 16);
}

TEST(DigitalEvolutionProgram, LayoutAndOwnersChangeNoState) {
  const std::string expected = field(digital_evolution(small).output, "state_hash");
  for (const char* option : {"--layout owner", "--layout master", "--layout padded", "--owners"}) {
    const Finished run = digital_evolution(small + option);
    EXPECT_EQ(field(run.output, "state_hash"), expected) << option << run.output;
    EXPECT_EQ(run.output.find("freed_by_another_thread") != std::string::npos,
              std::string(option) == "--owners");
  }
}

/// The knob is what it says: the more instructions, the smaller the share.
TEST(DigitalEvolutionProgram, MoreInstructionsMakeTheShareSmaller) {
  if (sanitized) GTEST_SKIP() << "a sanitizer brings its own allocator";
  const auto share = [](const std::string& instructions) {
    return number(digital_evolution("--width 10 --height 10 --account " + instructions), "malloc_share");
  };
  const double many = share("--instructions-per-message 4000 --generations 10");
  EXPECT_LT(2 * many, share("--instructions-per-message 10 --generations 150"));
}

TEST(DigitalEvolutionProgram, BrokenInvariantsAreStatusOne) {
  for (const auto& [broken, check] :
       {std::pair{"messages", "messages_balance"}, {"resource", "resource_balances"}}) {
    const Finished run = digital_evolution(small + "--break " + broken);
    EXPECT_EQ(run.status, 1) << run.output;
    for (const std::string name : {"messages_balance", "resource_balances"})
      EXPECT_EQ(field(run.output, name), name == check ? "false" : "true") << run.output;
  }
}

TEST(DigitalEvolutionProgram, AnotherStateThanExpectedIsStatusOne) {
  const std::string hash = field(digital_evolution(small).output, "state_hash");
  const std::string given = hash.substr(1, 16);
  const Finished same = digital_evolution(small + "--expect-hash " + given);
  EXPECT_EQ(same.status, 0) << same.output;
  EXPECT_EQ(field(same.output, "state_hash_as_expected"), "true");
  const Finished other = digital_evolution(small + "--seed 2 --expect-hash " + given);
  EXPECT_EQ(other.status, 1);
  EXPECT_EQ(field(other.output, "state_hash_as_expected"), "false");
}

TEST(DigitalEvolutionProgram, ReportsThroughRegionHeader) {
  const auto results = std::filesystem::path(testing::TempDir()) / "digital_evolution_results";
  std::filesystem::remove_all(results);
  std::filesystem::create_directories(results);
  digital_evolution(small + "--generations 16", "OMP_NUM_THREADS=1 CORESCALE_RESULT=" + results.string());
  const auto files = std::filesystem::directory_iterator(results);
  ASSERT_NE(files, std::filesystem::directory_iterator());
  std::ifstream in(files->path());
  const std::string text(std::istreambuf_iterator<char>(in), {});
  for (const char* part : {R"("name":"evolve","thread":0,"calls":1)", R"("cell_updates_per_second":)",
                           R"("messages_balance":true)", R"("resource_balances":true)", R"("work":1008)"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
}

TEST(DigitalEvolutionProgram, BadInputIsOneLineAndStatusTwo) {
  for (const auto& [arguments, message] : std::initializer_list<std::pair<std::string, std::string>>{
           {"--generation 3", "unknown option '--generation'; did you mean --generations?"},
           {"--width 0", "--width '0' cannot be used; give a whole number from 1 to 100000"},
           {"--height 3x", "--height '3x' cannot be used; give a whole number from 1 to 100000"},
           {"--seed -1", "--seed '-1' cannot be used; give a whole number from 0 to 18446744073709551615"},
           {"--badges 17", "--badges '17' cannot be used; give a whole number from 0 to 16"},
           {"--account --owners", "--account and --owners count different things; give one of them"},
           {"--account=yes", "--account takes no value; give --account alone"},
           {"--expect-hash 12",
            "--expect-hash '12' cannot be used; give the 16 hexadecimal digits of a state_hash"},
           {"--generations", "--generations lacks its value; give --generations N"}}) {
    const Finished run = digital_evolution(arguments);
    EXPECT_EQ(run.status, 2);
    EXPECT_EQ(run.output, "digital_evolution: " + message + "\n");
  }
}

TEST(DigitalEvolutionProgram, NoMemoryIsOneLineAndStatusTwo) {
  if (sanitized) GTEST_SKIP() << "a sanitizer needs more memory than the limit";
  const Finished run = run_program(DIGITAL_EVOLUTION, "--width 300 --height 300 --generations 3",
                                   "OMP_NUM_THREADS=1", "ulimit -v 200000;");
  EXPECT_EQ(run.status, 2);
  EXPECT_EQ(run.output, "digital_evolution: there is not enough memory for this; ask for less\n");
}

TEST(DigitalEvolutionProgram, AWorldThatNoMachineHoldsIsRefusedAtOnce) {
  const Finished run = digital_evolution("--width 100000 --height 100000");
  EXPECT_EQ(run.status, 2);
  EXPECT_EQ(run.output.rfind("memory: 10000000000 cells need 1", 0), 0U) << run.output;
  EXPECT_NE(run.output.find(" GB are free; give a smaller --width or --height\n"), std::string::npos);
}

TEST(DigitalEvolutionProgram, FullDiskIsNoSuccess) {
  EXPECT_EQ(digital_evolution(small + ">/dev/full").status, 1);
}

TEST(DigitalEvolutionProgram, HelpIsStatusZero) {
  const Finished run = digital_evolution("--help");
  EXPECT_EQ(run.status, 0);
  EXPECT_NE(run.output.find("--no-selection  "), std::string::npos);
}

}  // namespace
