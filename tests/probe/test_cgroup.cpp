// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "kernel/cgroup.hpp"
#include "kernel/tree_group.hpp"

namespace corescale::probe {
namespace {

constexpr const char* unified =
    "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
constexpr const char* hybrid =
    "30 23 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
    "31 23 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    "32 23 0:28 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n";

TEST(cgroup, is_found_in_version_2) {
  const auto place = locate_cgroup("memory", unified, "0::/user.slice/a.scope\n");
  ASSERT_TRUE(place);
  EXPECT_EQ(place->directory(), "/sys/fs/cgroup/user.slice/a.scope");
  EXPECT_EQ(place->version, 2);
}

TEST(cgroup, version_1_holds_a_controller_before_version_2) {
  const std::string memberships = "0::/x\n4:memory:/jobs/7\n3:cpu,cpuacct:/\n";
  const auto memory = locate_cgroup("memory", hybrid, memberships);
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->directory(), "/sys/fs/cgroup/memory/jobs/7");
  EXPECT_EQ(memory->version, 1);
  EXPECT_EQ(locate_cgroup("cpu", hybrid, memberships)->directory(), "/sys/fs/cgroup/cpu,cpuacct");
  EXPECT_EQ(locate_cgroup("cpuset", hybrid, memberships)->version, 2);
}

TEST(cgroup, a_mount_may_show_only_a_part_of_the_hierarchy) {
  const char* container = "40 1 0:27 /docker/ab /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n";
  EXPECT_EQ(locate_cgroup("memory", container, "4:memory:/docker/ab/in\n")->directory(),
            "/sys/fs/cgroup/memory/in");
  EXPECT_FALSE(locate_cgroup("memory", container, "4:memory:/elsewhere\n"));
  EXPECT_FALSE(locate_cgroup("memory", container, "4:memory:/docker/abc\n"));
  EXPECT_FALSE(locate_cgroup("memory", unified, "0::/../outside\n"));
  EXPECT_FALSE(locate_cgroup("memory", "", "0::/\n"));
}

TEST(cgroup, ancestry_goes_up_to_the_mount) {
  const cgroup_place place{"/m", "/a/b", 2};
  EXPECT_EQ(place.ancestry(), std::vector<std::string>({"/m/a/b", "/m/a", "/m"}));
}

/// A machine's /proc/self and control groups, recorded as files. The kernel's part, filling new groups, is
/// the test's.
class recorded_machine : public testing::Test {
 protected:
  void SetUp() override {
    write("/proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n");
    write("/proc/self/cgroup", "0::/user.slice/job.scope\n");
    write(own + "/cgroup.subtree_control", "\n");
  }
  void TearDown() override { std::filesystem::remove_all(root); }
  void write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(root + path).parent_path());
    std::ofstream(root + path) << text;
  }
  /// Whether this machine has a group that a launch made.
  bool has_groups() const {
    for (const auto& entry : std::filesystem::directory_iterator(root + own))
      if (entry.path().filename().string().starts_with("corescale-")) return true;
    return false;
  }

  const std::string root = testing::TempDir() + "machine" + std::to_string(getpid());
  const std::string own = "/sys/fs/cgroup/user.slice/job.scope";
};

TEST_F(recorded_machine, version_2_books_time_and_memory_where_the_controller_is) {
  const tree_group group(root);
  EXPECT_GE(group.birthplace(), 0);
  EXPECT_FALSE(group.cpu_seconds());
  EXPECT_FALSE(group.anonymous());
  const std::string mine = own + "/" + group.name();
  write(mine + "/cpu.stat", "usage_usec 2500000\nuser_usec 2000000\nsystem_usec 500000\n");
  write(mine + "/memory.stat", "anon 4096\nfile 1048576\nshmem 8192\n");
  EXPECT_EQ(group.cpu_seconds(), 2.5);
  EXPECT_EQ(group.anonymous(), 4096U);
  std::filesystem::remove(root + mine + "/cpu.stat");
  std::filesystem::remove(root + mine + "/memory.stat");
}

/// The number in its name is that of a process here: in another namespace it was the spawner's.
TEST_F(recorded_machine, groups_are_gone_afterwards_and_those_of_dead_spawners_too) {
  std::filesystem::create_directories(root + own + "/corescale-launch-1-abcdef/made by the program");
  { const tree_group group(root); }
  EXPECT_FALSE(has_groups());
}

TEST_F(recorded_machine, a_group_of_a_spawner_that_lives_stays) {
  const tree_group first(root);
  { const tree_group second(root); }
  EXPECT_TRUE(has_groups());
}

TEST_F(recorded_machine, without_the_right_to_make_groups_there_are_none) {
  write("/proc/self/cgroup", "0::/not/there\n");
  const tree_group group(root);
  EXPECT_LT(group.birthplace(), 0);
  EXPECT_FALSE(group.cpu_seconds());
}

TEST_F(recorded_machine, throttling_is_that_of_the_group_that_was_held_back_the_longest) {
  write("/sys/fs/cgroup/user.slice/cpu.stat", "usage_usec 9\nthrottled_usec 90000000\n");
  write(own + "/cpu.stat", "throttled_usec 1000000\n");
  const throttling since(root);
  EXPECT_EQ(since.seconds(), 0);
  write(own + "/cpu.stat", "throttled_usec 2500000\n");
  write("/sys/fs/cgroup/user.slice/cpu.stat", "usage_usec 9\nthrottled_usec 90250000\n");
  EXPECT_EQ(since.seconds(), 1.5);
}

}  // namespace
}  // namespace corescale::probe
