// SPDX-License-Identifier: Apache-2.0
#include "driver/arguments.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "driver/result.hpp"

namespace {

struct Values {
  std::string file = "none", kind = "a";
  int count = 3;
  std::uint64_t seed = 1;
  bool quick = false;
};

bool parse(Values& values, std::vector<const char*> argv) {
  driver::Arguments arguments("program", "does things");
  arguments.text("file", values.file, "FILE", "a file");
  arguments.choice("kind", values.kind, {"a", "b"}, "which");
  arguments.integer("count", values.count, 1, 10, "how many");
  arguments.integer<std::uint64_t>("seed", values.seed, 0, ~std::uint64_t{0}, "of what is drawn");
  arguments.flag("quick", values.quick, "less of all");
  argv.insert(argv.begin(), "program");
  return arguments.parse(static_cast<int>(argv.size()), argv.data());
}

std::string fault(const std::vector<const char*>& argv) {
  Values values;
  try {
    parse(values, argv);
  } catch (const driver::Error& error) {
    return error.what();
  }
  return "none";
}

TEST(Arguments, SetsWhatIsGivenAndKeepsTheRest) {
  Values values;
  EXPECT_TRUE(parse(values, {"--count", "7", "--kind=b", "--seed", "18446744073709551615"}));
  EXPECT_EQ(values.count, 7);
  EXPECT_EQ(values.kind, "b");
  EXPECT_EQ(values.seed, ~std::uint64_t{0});
  EXPECT_EQ(values.file, "none");
}

TEST(Arguments, HelpListsEachOptionWithItsDefault) {
  Values values;
  testing::internal::CaptureStdout();
  EXPECT_FALSE(parse(values, {"--help", "--unknown"}));
  const std::string help = testing::internal::GetCapturedStdout();
  EXPECT_NE(help.find("--count N"), std::string::npos);
  EXPECT_NE(help.find("how many [3]"), std::string::npos);
  EXPECT_NE(help.find("--kind a|b"), std::string::npos);
  EXPECT_NE(help.find("--quick  "), std::string::npos);
}

TEST(Arguments, FlagTakesNoValue) {
  Values values;
  EXPECT_TRUE(parse(values, {"--quick", "--count", "7"}));
  EXPECT_TRUE(values.quick);
  EXPECT_EQ(values.count, 7);
  EXPECT_EQ(fault({"--quick=1"}), "program: --quick takes no value; give --quick alone");
  EXPECT_EQ(fault({"--quick", "1"}), "program: unknown option '1'; --help lists the options");
}

TEST(Arguments, FaultsSayWhatWhereAndTheRemedy) {
  EXPECT_EQ(fault({"--cuont", "1"}), "program: unknown option '--cuont'; did you mean --count?");
  EXPECT_EQ(fault({"stray"}), "program: unknown option 'stray'; --help lists the options");
  EXPECT_EQ(fault({"--count"}), "program: --count lacks its value; give --count N");
  EXPECT_EQ(fault({"--kind", "c"}), "program: --kind 'c' cannot be used; give one of a, b");
  for (const char* bad : {"0", "11", "-1", "x", "3x", "", "1e3", "99999999999999999999"})
    EXPECT_EQ(fault({"--count", bad}),
              "program: --count '" + std::string(bad) + "' cannot be used; give a whole number from 1 to 10");
}

TEST(Arguments, ProgramWithoutOptionsRefusesAll) {
  driver::Arguments arguments("program", "takes none");
  const char* const argv[] = {"program", "--quick"};
  try {
    arguments.parse(2, argv);
    FAIL() << "was taken";
  } catch (const driver::Error& error) {
    EXPECT_STREQ(error.what(), "program: unknown option '--quick'; --help lists the options");
  }
}

TEST(Result, IsOneJsonLine) {
  driver::Result result;
  result.metric("length", 7542.0);
  result.metric("gap", std::nullopt);
  result.metric("nan", 0.0 / 0.0);
  result.metric("tenth", 0.1);
  result.text("name", "a \"b\"\n\\");
  result.check("good", true);
  EXPECT_EQ(
      result.json(),
      R"({"length": 7542, "gap": null, "nan": null, "tenth": 0.1, "name": "a \"b\" \\", "good": true})");
}

TEST(Result, IsPrintedAndDecidesTheExitStatus) {
  driver::Result result;
  result.check("good", true);
  testing::internal::CaptureStdout();
  EXPECT_EQ(result.print(), 0);
  result.check("bad", false);
  result.check("good again", true);
  EXPECT_EQ(result.print(), 1);
  EXPECT_EQ(testing::internal::GetCapturedStdout(),
            "{\"good\": true}\n{\"good\": true, \"bad\": false, \"good again\": true}\n");
}

}  // namespace
