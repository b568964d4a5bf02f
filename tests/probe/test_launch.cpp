// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>

#include "spawner/failure.hpp"
#include "spawner/launch.hpp"

namespace corescale::probe {
namespace {

TEST(environment, applies_changes_in_order) {
  setenv("PROBE_OLD", "1", 1);
  arguments asked;
  asked.environment = {{"PROBE_OLD", std::nullopt}, {"PROBE_NEW", "1"}, {"PROBE_NEW", "2"}};
  const auto variables = environment_of(asked);
  const auto count = [&](const char* text) { return std::count(variables.begin(), variables.end(), text); };
  EXPECT_EQ(count("PROBE_OLD=1"), 0);
  EXPECT_EQ(count("PROBE_NEW=1"), 0);
  EXPECT_EQ(count("PROBE_NEW=2"), 1);
}

TEST(program, is_looked_up_in_the_path_given) {
  EXPECT_EQ(find_program("sh", {"PATH=/nonexistent:/bin"}), "/bin/sh");
  EXPECT_EQ(find_program("./anything", {"PATH=/bin"}), "./anything");
  try {
    find_program("sh", {"PATH=/nonexistent"});
    FAIL();
  } catch (const start_failure& failure) {
    EXPECT_STREQ(failure.step, "find");
    EXPECT_EQ(failure.error, ENOENT);
  }
}

TEST(program, that_may_not_be_executed_is_told_from_none) {
  try {
    find_program("passwd", {"PATH=/etc"});
    FAIL();
  } catch (const start_failure& failure) {
    EXPECT_STREQ(failure.step, "exec");
    EXPECT_EQ(failure.error, EACCES);
  }
}

}  // namespace
}  // namespace corescale::probe
