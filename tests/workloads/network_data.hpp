// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "program.hpp"

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

  /// Line `number` of a file. Line 1 has the headings.
  std::string line(const std::string& file, int number) const {
    std::ifstream in(folder / file);
    std::string text;
    while (number-- > 0) std::getline(in, text);
    return text;
  }

  void refuses(const std::string& message, const std::string& arguments = "") const {
    const Finished run = run_program(
        ANT_COLONY, "--problem network --iterations 1 --data " + folder.string() + " " + arguments, "");
    EXPECT_EQ(run.status, 2) << run.output;
    EXPECT_EQ(std::count(run.output.begin(), run.output.end(), '\n'), 1) << run.output;
    EXPECT_NE(run.output.find(message), std::string::npos) << run.output;
  }

  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) /
      (std::string("network_data_") + testing::UnitTest::GetInstance()->current_test_info()->name());
};
