// SPDX-License-Identifier: Apache-2.0
#include "multi_newton/study_alloc.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <thread>

namespace {

using namespace multi_newton;

/// Which lines threads share is what tells the study's versions apart.
template <class Version>
void two_slices(void (*check)(const Slice& a, const Slice& b)) {
  Slice& mine = Slices<Version>::mine();
  std::thread([&] { check(mine, Slices<Version>::mine()); }).join();
}

std::uintptr_t line_of(const void* address) { return reinterpret_cast<std::uintptr_t>(address) / 64; }

TEST(StudyAlloc, ContiguousThreadsShareLinesAndSeparateOnesDoNot) {
  two_slices<Contiguous>([](const Slice& a, const Slice& b) {
    EXPECT_EQ(b.roots, a.roots + corescale::num_capacities);
    EXPECT_NE(line_of(b.roots - 1), line_of(b.roots));
    EXPECT_EQ(line_of(a.inuse), line_of(b.inuse));
    EXPECT_EQ(line_of(a.available), line_of(b.available));
  });
  two_slices<Separate>([](const Slice& a, const Slice& b) {
    const auto end = [](const Slice& s) { return line_of(s.available); };
    EXPECT_TRUE(end(a) < line_of(b.roots) || end(b) < line_of(a.roots));
  });
}

template <class Version>
struct StudyVersion : testing::Test {};
using StudyVersions = testing::Types<Contiguous, Separate, System>;
TYPED_TEST_SUITE(StudyVersion, StudyVersions);

TYPED_TEST(StudyVersion, CountsItsBytesAndKeepsWhatItHolds) {
  using Alloc = StudyAlloc<TypeParam>;
  std::size_t capacity = 0;
  Alloc::return_memory(Alloc::get_memory(200, capacity));
  const std::size_t held = Alloc::available();
  EXPECT_EQ(held >= 288, TypeParam::holds);
  void* const first = Alloc::get_memory(200, capacity);
  EXPECT_EQ(capacity, 288u);
  EXPECT_EQ(Alloc::inuse(), 288u);
  EXPECT_EQ(Alloc::available(), TypeParam::holds ? held - 288 : 0u);
  Alloc::return_memory(first);
  EXPECT_EQ(Alloc::inuse(), 0u);
  EXPECT_EQ(Alloc::available(), held);
  if constexpr (TypeParam::holds) {
    void* const second = Alloc::get_memory(288, capacity);
    EXPECT_EQ(second, first);
    Alloc::return_memory(second);
  }
}

TYPED_TEST(StudyVersion, WhatAnotherThreadReturnsGoesHome) {
  using Alloc = StudyAlloc<TypeParam>;
  std::size_t capacity = 0;
  void* const memory = Alloc::get_memory(1000, capacity);
  std::thread([&] {
    std::size_t unused = 0;
    Alloc::return_memory(Alloc::get_memory(1, unused));
    Alloc::return_memory(memory);
    EXPECT_EQ(Alloc::inuse(), 0u);
  }).join();
  EXPECT_EQ(Alloc::inuse(), 0u);
  if constexpr (TypeParam::holds) {
    void* const again = Alloc::get_memory(1000, capacity);
    EXPECT_EQ(again, memory);
    Alloc::return_memory(again);
  }
}

TYPED_TEST(StudyVersion, RefusesWhatNothingHolds) {
  std::size_t capacity = 0;
  EXPECT_THROW((void)StudyAlloc<TypeParam>::get_memory(std::size_t{1} << 63, capacity), std::bad_alloc);
  EXPECT_THROW((void)StudyAlloc<TypeParam>::get_memory(8, capacity, 64), std::bad_alloc);
  EXPECT_THROW((void)BareAlloc::get_memory(std::size_t{1} << 63, capacity), std::bad_alloc);
}

}  // namespace
