// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "network_data.hpp"

namespace {

TEST_F(Data, APlanIsWrittenWhereTheFileIsAndKeepsItsMode) {
  const auto plan = folder / "plan.csv", link = folder / "link.csv";
  std::ofstream(plan) << "old";
  std::filesystem::permissions(plan,
                               std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  std::filesystem::create_symlink(plan, link);
  const std::string of =
      "--problem network --iterations 1 --months 1 --data " + folder.string() + " --solution ";
  EXPECT_EQ(run_program(ANT_COLONY, of + link.string(), "OMP_NUM_THREADS=1").status, 0);
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_GT(std::filesystem::file_size(plan), 100U);
  EXPECT_EQ(std::filesystem::status(plan).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  const auto log = folder / "log.txt";
  std::ofstream(log) << "before\n";
  const std::string command =
      std::string("OMP_NUM_THREADS=1 ") + ANT_COLONY + " " + of + "/dev/fd/3 3>>" + log.string();
  EXPECT_EQ(std::system((command + " >/dev/null").c_str()), 0);
  std::ifstream in(log);
  const std::string text(std::istreambuf_iterator<char>(in), {});
  EXPECT_EQ(text.rfind("before\nMonth,Order ID", 0), 0U) << text.substr(0, 200);
  const Finished through = run_program(ANT_COLONY, of + "/dev/stdout", "OMP_NUM_THREADS=1");
  EXPECT_EQ(through.status, 0);
  EXPECT_EQ(through.output.rfind("Month,Order ID", 0), 0U) << through.output.substr(0, 200);
}

TEST_F(Data, APipesReaderGetsTheWholePlan) {
  const std::string pipe = (folder / "pipe").string(), copy = (folder / "copy.csv").string();
  const std::string of =
      " --problem network --iterations 1 --months 1 --data " + folder.string() + " --solution " + pipe;
  ASSERT_EQ(std::system(("mkfifo " + pipe + "; cat " + pipe + " > " + copy +
                         " & OMP_NUM_THREADS=1 timeout 200 " + ANT_COLONY + of + " > /dev/null && wait")
                            .c_str()),
            0);
  EXPECT_EQ(line("copy.csv", 1).rfind("Month,Order ID", 0), 0U);
  EXPECT_NE(line("copy.csv", 2), "");
}

TEST_F(Data, TablesAreWrittenAllOrNone) {
  const std::string before = line("OrderList.csv", 2);
  std::filesystem::remove(folder / "PlantPorts.csv");
  std::filesystem::create_directory(folder / "PlantPorts.csv");
  const Finished run =
      run_program(ANT_COLONY, "--problem network --orders 120 --seed 2 --write-data " + folder.string(), "");
  EXPECT_EQ(run.status, 2);
  EXPECT_NE(run.output.find("PlantPorts.csv: cannot be written: Is a directory"), std::string::npos)
      << run.output;
  EXPECT_EQ(line("OrderList.csv", 2), before);
  const auto files = std::filesystem::directory_iterator(folder);
  EXPECT_EQ(std::distance(begin(files), end(files)), 7) << "no part is left";
}

TEST_F(Data, AClosedOrFullStandardOutputIsSaid) {
  const std::string of = "--problem network --iterations 1 --months 1 --data " + folder.string();
  for (const std::string to : {" 3>&1 >/dev/full 2>&3", " 3>&1 >&- 2>&3"}) {
    const Finished run =
        run_program("sh", "-c '" + std::string(ANT_COLONY) + " " + of + to + "'", "OMP_NUM_THREADS=1");
    EXPECT_EQ(run.status, 1);
    EXPECT_EQ(run.output.rfind("standard output: cannot be written: ", 0), 0U) << run.output;
  }
}

TEST_F(Data, WhatIsReadIsNotWrittenOver) {
  refuses("which --data reads; give another file", "--solution " + (folder / "OrderList.csv").string());
  refuses("--write-data writes tables that are generated, and --data reads others; leave one out",
          "--write-data " + folder.string());
}

TEST_F(Data, AResultThatCannotBeWrittenIsRefusedBeforeTheSearch) {
  refuses("/absent/plan.csv: cannot be written: No such file or directory; give a file in a folder",
          "--solution /absent/plan.csv");
  EXPECT_FALSE(std::filesystem::exists("/absent"));
}

}  // namespace
