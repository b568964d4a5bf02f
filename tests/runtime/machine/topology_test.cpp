// SPDX-License-Identifier: Apache-2.0
#include "corescale/machine/topology.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <set>
#include <stdexcept>
#include <thread>

namespace corescale::test {
namespace {

std::size_t count(const topology& machine, int cpu_place::*what) {
  std::set<int> seen;
  for (const cpu_place& one : machine.cpus) seen.insert(one.*what);
  return seen.size();
}

topology synthetic(const char* description) {
  try {
    return topology::from_synthetic(description);
  } catch (const std::runtime_error&) {
    return {};
  }
}

TEST(Topology, ASyntheticMachineHasWhatItsDescriptionSays) {
  const topology machine = synthetic("pack:2 l3:4 core:8 pu:2");
  if (machine.cpus.empty()) GTEST_SKIP() << "built without hwloc (libhwloc-dev)";
  EXPECT_EQ(machine.cpus.size(), 128U);
  EXPECT_EQ(count(machine, &cpu_place::core), 64U);
  EXPECT_EQ(count(machine, &cpu_place::l3_domain), 8U);
  EXPECT_EQ(count(machine, &cpu_place::socket), 2U);
  EXPECT_EQ(machine.most_threads, 128U);
  EXPECT_EQ(machine.cpus[127], (cpu_place{127, 63, 1, 0, 7, true}));
}

TEST(Topology, WithoutAnL3TheCoreGroupIsTheNode) {
  const topology machine = synthetic("pack:2 [numa] core:4 pu:1");
  if (machine.cpus.empty()) GTEST_SKIP() << "built without hwloc (libhwloc-dev)";
  EXPECT_EQ(count(machine, &cpu_place::l3_domain), 2U);
  EXPECT_EQ(count(machine, &cpu_place::numa_node), 2U);
}

TEST(Topology, NonsenseIsRefusedByName) {
  if (synthetic("pu:1").cpus.empty()) GTEST_SKIP() << "built without hwloc (libhwloc-dev)";
  EXPECT_THROW(topology::from_synthetic("sofa:2"), std::invalid_argument);
  EXPECT_THROW(topology::from_xml("<sofa/>"), std::invalid_argument);
}

TEST(Topology, ThisMachineAgreesWithSysfs) {
  const topology here = topology::here();
  const topology files = topology::here_by_sysfs();
  ASSERT_FALSE(here.cpus.empty());
  EXPECT_EQ(here.cpus, files.cpus);
  EXPECT_EQ(here.most_threads, files.most_threads);
  EXPECT_EQ(here.most_threads, usable_cores());
}

TEST(Topology, ANarrowedMaskIsSeen) {
  const topology before = topology::here();
  topology after;
  std::thread([&] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(before.usable().back().cpu), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    after = topology::here();
  }).join();
  EXPECT_EQ(after.cpus.size(), before.cpus.size());
  ASSERT_EQ(after.usable().size(), 1U);
  EXPECT_EQ(after.usable().front().cpu, before.usable().back().cpu);
  EXPECT_EQ(after.most_threads, 1U);
}

TEST(Topology, ThisMachineIsReadOnce) { EXPECT_EQ(&this_machine(), &this_machine()); }

}  // namespace
}  // namespace corescale::test
