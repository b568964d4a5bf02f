// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "corescale/memory/thread_alloc.hpp"

/// With checks and without.
using every_allocator = testing::Types<corescale::thread_alloc, corescale::checked_thread_alloc>;

/// Asked at run time, as a test of the plain library in a program that has it asks too.
extern "C" void __asan_poison_memory_region(const volatile void*, std::size_t) __attribute__((weak));
inline bool address_sanitizer_watches() { return &__asan_poison_memory_region != nullptr; }

inline void on_another_thread(const std::function<void()>& work) { std::thread(work).join(); }

/// A test starts and ends with nothing in use and nothing held, or fails.
template <class Alloc>
class thread_alloc_test : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(Alloc::free_all()); }
  void TearDown() override {
    EXPECT_TRUE(Alloc::free_all());
    EXPECT_EQ(Alloc::inuse(self), 0u);
    EXPECT_EQ(Alloc::available(self), 0u);
    EXPECT_TRUE(Alloc::checked_in_use(self).empty());
  }

  static void* get(std::size_t bytes) {
    std::size_t capacity = 0;
    return Alloc::get_memory(bytes, capacity);
  }

  void expect_bytes(std::size_t inuse, std::size_t available) const {
    EXPECT_EQ(Alloc::inuse(self), inuse);
    EXPECT_EQ(Alloc::available(self), available);
  }

  const std::size_t self = Alloc::thread();
};
