// SPDX-License-Identifier: Apache-2.0
#include "corescale/parallel_for/calibration.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <string>

namespace corescale::test {
namespace {

class Calibration : public testing::Test {
 protected:
  calibration read(const std::string& text) {
    std::ofstream(path_) << text;
    return read_calibration(path_).constants;
  }
  std::string refusal(const std::string& text) {
    try {
      read(text);
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "none";
  }
  ~Calibration() override { std::remove(path_.c_str()); }

  const std::string path_ =
      testing::TempDir() + "calibration-" + testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(Calibration, WhatIsNotNamedKeepsItsDefault) {
  const calibration read_back = read("# by hand\nformat = 2\nclaim_own = 7.5  # ns\n\n");
  EXPECT_EQ(read_back.claim_own, 7.5);
  EXPECT_EQ(read_back.line_near, calibration{}.line_near);
}

TEST_F(Calibration, EveryConstantCanBeWritten) {
  std::string text = "format = 2\n";
  for (const calibration_constant& row : calibration_constants()) text += std::string(row.name) + " = 3\n";
  const calibration read_back = read(text);
  for (const calibration_constant& row : calibration_constants())
    EXPECT_EQ(read_back.*(row.value), 3) << row.name;
}

TEST_F(Calibration, NonsenseIsRefusedByFileAndLine) {
  EXPECT_NE(refusal("format = 2\nclaim_own 7\n").find(path_ + ":2: write `name = number`"),
            std::string::npos);
  EXPECT_NE(refusal("format = 2\nsofa = 7\n").find("'sofa'"), std::string::npos);
  EXPECT_NE(refusal("format = 2\nclaim_own = -7\n").find("above 0"), std::string::npos);
  EXPECT_NE(refusal("format = 2\nclaim_own = nan\n").find(":2"), std::string::npos);
  EXPECT_NE(refusal("format = 3\n").find("calibrate again"), std::string::npos);
  EXPECT_NE(refusal("claim_own = 7\n").find("format = 2"), std::string::npos);
}

TEST_F(Calibration, TheFileSaysWhoseItIs) {
  EXPECT_EQ((read("format = 2\n"), read_calibration(path_).cpus), "");
  EXPECT_EQ((read("cpus = 4 x A CPU\nformat = 2\nlab.l1_ns = 1\n"), read_calibration(path_).cpus),
            "4 x A CPU");
}

TEST_F(Calibration, AMissingFileIsRefused) {
  EXPECT_THROW(read_calibration("/nowhere/calibration"), std::runtime_error);
}

}  // namespace
}  // namespace corescale::test
