// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "spawner/arguments.hpp"

namespace corescale::probe {
namespace {

TEST(arguments, are_read_up_to_the_command) {
  const auto asked =
      parse_arguments({"--report", "3", "--env", "A=b=c", "--unset", "D", "--affinity", "0-1", "--timeout",
                       "2.5", "--prove", "--cgroup", "off", "--", "run", "--report", "--"});
  EXPECT_EQ(asked.report, "3");
  ASSERT_EQ(asked.environment.size(), 2U);
  EXPECT_EQ(asked.environment[0].second, "b=c");
  EXPECT_FALSE(asked.environment[1].second);
  EXPECT_EQ(asked.affinity, std::vector<int>({0, 1}));
  EXPECT_EQ(asked.timeout, 2.5);
  EXPECT_TRUE(asked.prove);
  EXPECT_FALSE(asked.groups);
  EXPECT_EQ(asked.command, std::vector<std::string>({"run", "--report", "--"}));
}

TEST(arguments, that_make_no_sense_are_named) {
  const std::vector<std::vector<std::string>> wrong = {
      {},
      {"--report", "3"},
      {"--report", "3", "--"},
      {"--", "true"},
      {"--report"},
      {"--report", "3", "--nonsense", "--", "true"},
      {"--report", "3", "--timeout", "-1", "--", "true"},
      {"--report", "3", "--env", "=x", "--", "true"},
      {"--report", "3", "--affinity", "x", "--", "true"},
      {"--report", "3", "--cgroup", "maybe", "--", "true"},
  };
  for (const auto& words : wrong) EXPECT_THROW(parse_arguments(words), usage_error);
}

TEST(arguments, usage_names_every_option) {
  const std::string text = usage();
  for (const char* option :
       {"--report", "--env", "--unset", "--affinity", "--timeout", "--grace", "--stdin", "--stdout",
        "--stderr", "--tail", "--scratch", "--sample-ms", "--cgroup", "--prove", "--parent", "--beside"})
    EXPECT_NE(text.find(option), text.npos) << option;
}

}  // namespace
}  // namespace corescale::probe
