// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "kernel/cgroup.hpp"

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
  EXPECT_FALSE(locate_cgroup("memory", unified, "0::/../outside\n"));
  EXPECT_FALSE(locate_cgroup("memory", "", "0::/\n"));
}

TEST(cgroup, ancestry_goes_up_to_the_mount) {
  const cgroup_place place{"/m", "/a/b", 2};
  EXPECT_EQ(place.ancestry(), std::vector<std::string>({"/m/a/b", "/m/a", "/m"}));
}

}  // namespace
}  // namespace corescale::probe
