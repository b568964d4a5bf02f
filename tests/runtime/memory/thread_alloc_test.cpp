// SPDX-License-Identifier: Apache-2.0
#include "corescale/memory/thread_alloc.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <limits>
#include <new>
#include <stdexcept>
#include <vector>

#include "allocators_under_test.hpp"

namespace {

template <class Alloc>
class Every : public thread_alloc_test<Alloc> {};
TYPED_TEST_SUITE(Every, every_allocator);

template <class Alloc>
class Holding : public thread_alloc_test<Alloc> {};
TYPED_TEST_SUITE(Holding, every_allocator);

/// The study's, and three less than them.
std::size_t least_capacity(std::size_t bytes) {
  for (const std::size_t capacity : {24u, 56u, 88u})
    if (bytes <= capacity) return capacity;
  return corescale::capacity_at(corescale::capacity_index(bytes));
}

TYPED_TEST(Every, CountsBytesExactlyAfterEachStep) {
  void* const a = this->get(100);
  this->expect_bytes(128, 0);
  void* const b = this->get(193);
  this->expect_bytes(128 + 288, 0);
  TypeParam::return_memory(a);
  this->expect_bytes(288, 128);
  TypeParam::return_memory(b);
  this->expect_bytes(0, 128 + 288);
  void* const c = this->get(260);
  this->expect_bytes(288, 128);
  TypeParam::free_available(this->self);
  this->expect_bytes(288, 0);
  TypeParam::return_memory(c);
  this->expect_bytes(0, 288);
}

TYPED_TEST(Every, GivesTheLeastCapacityAndAllOfItIsUsable) {
  for (const std::size_t bytes : {0u, 1u, 24u, 25u, 56u, 57u, 88u, 89u, 128u, 129u, 2187u, 2188u, 1u << 20}) {
    std::size_t capacity = 0;
    void* const memory = TypeParam::get_memory(bytes, capacity);
    EXPECT_EQ(capacity, least_capacity(bytes));
    EXPECT_EQ(TypeParam::capacity_of(memory), capacity);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % (capacity < 128 ? 16 : 32), 0u);
    std::memset(memory, 0xAB, capacity);
    TypeParam::return_memory(memory);
  }
}

TYPED_TEST(Every, AlignsAsAsked) {
  std::vector<void*> all;
  for (std::size_t alignment = 1; alignment <= 1 << 16; alignment *= 2) {
    for (const std::size_t bytes : {1u, 100u, 128u, 5000u}) {
      std::size_t capacity = 0;
      void* const memory = TypeParam::get_memory(bytes, capacity, alignment);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % alignment, 0u);
      ASSERT_GE(capacity, bytes);
      EXPECT_EQ(TypeParam::capacity_of(memory), capacity);
      std::memset(memory, 0xCD, capacity);
      all.push_back(memory);
    }
  }
  for (void* memory : all) TypeParam::return_memory(memory);
  EXPECT_EQ(TypeParam::inuse(this->self), 0u);
}

TYPED_TEST(Every, RefusesWhatNoCapacityHolds) {
  std::size_t capacity = 77;
  constexpr std::size_t largest = std::numeric_limits<std::size_t>::max();
  EXPECT_THROW((void)TypeParam::get_memory(largest, capacity), std::bad_alloc);
  EXPECT_THROW((void)TypeParam::get_memory(largest - 8, capacity, 64), std::bad_alloc);
  EXPECT_THROW((void)TypeParam::get_memory(largest / 4, capacity), std::bad_alloc);
  EXPECT_EQ(capacity, 77u);
  this->expect_bytes(0, 0);
}

TYPED_TEST(Every, ArrayFillsItsCapacityAndRefusesOverflow) {
  std::size_t size = 0;
  double* const numbers = TypeParam::template create_array<double>(17, size);
  EXPECT_EQ(size, 192 / sizeof(double));
  TypeParam::delete_array(numbers);
  constexpr std::size_t too_many = std::numeric_limits<std::size_t>::max() / sizeof(double) + 1;
  EXPECT_THROW((void)TypeParam::template create_array<double>(too_many, size), std::bad_array_new_length);
  EXPECT_EQ(size, 192 / sizeof(double));
  TypeParam::delete_array(static_cast<double*>(nullptr));
}

struct alignas(64) limited {
  static inline int alive = 0;
  static inline int allowed = 1'000'000;
  limited() {
    if (alive == allowed) throw std::runtime_error("enough");
    ++alive;
  }
  ~limited() { --alive; }
};

TYPED_TEST(Every, ArrayConstructsAndDestroysEveryElement) {
  std::size_t size = 0;
  limited* const all = TypeParam::template create_array<limited>(5, size);
  EXPECT_GE(size, 5u);
  EXPECT_EQ(limited::alive, static_cast<int>(size));
  TypeParam::delete_array(all);
  EXPECT_EQ(limited::alive, 0);
}

TYPED_TEST(Every, ArrayWhoseConstructorThrowsLeavesNothing) {
  std::size_t size = 0;
  limited::allowed = 3;
  EXPECT_THROW((void)TypeParam::template create_array<limited>(5, size), std::runtime_error);
  limited::allowed = 1'000'000;
  EXPECT_EQ(limited::alive, 0);
  EXPECT_EQ(TypeParam::inuse(this->self), 0u);
}

TYPED_TEST(Holding, IsLastInFirstOut) {
  void* const a = this->get(200);
  void* const b = this->get(200);
  TypeParam::return_memory(a);
  TypeParam::return_memory(b);
  EXPECT_EQ(this->get(250), b);
  EXPECT_EQ(this->get(200), a);
  TypeParam::return_memory(a);
  TypeParam::return_memory(b);
}

TYPED_TEST(Holding, MoreThanIsInUseGoesBackBeforeOtherSizesAreGot) {
  const auto kept_beside = [this](std::size_t bytes) {
    std::vector<void*> all;
    for (std::size_t sum = 0; sum < std::size_t{80} << 20; sum += bytes) all.push_back(this->get(bytes));
    const std::size_t kept = TypeParam::available(this->self);
    for (void* const one : all) TypeParam::return_memory(one);
    return kept;
  };
  for (const std::size_t bytes : {5000U, 70'000U, 900U})
    EXPECT_LT(kept_beside(bytes), std::size_t{32} << 20) << bytes;
}

TYPED_TEST(Holding, WhatAnArrayThatGrowsHasLeftGoesBack) {
  void* last = this->get(std::size_t{1} << 20);
  for (std::size_t bytes = std::size_t{2} << 20; bytes <= std::size_t{256} << 20; bytes *= 2) {
    void* const next = this->get(bytes);
    TypeParam::return_memory(last);
    last = next;
  }
  EXPECT_LT(TypeParam::available(this->self), std::size_t{64} << 20);
  TypeParam::return_memory(last);
}

TYPED_TEST(Holding, WhatIsVeryLargeIsNotKeptWhicheverThreadReturnsIt) {
  void* const by_another = this->get(std::size_t{32} << 20);
  TypeParam::return_memory(this->get(std::size_t{32} << 20));
  on_another_thread([by_another] { TypeParam::return_memory(by_another); });
  this->expect_bytes(0, 0);
}

TYPED_TEST(Holding, GivesToTheSystemAtOnceWhenToldNotToHold) {
  void* const before = this->get(200);
  TypeParam::hold_memory(false);
  TypeParam::return_memory(before);
  this->expect_bytes(0, 0);
  TypeParam::return_memory(this->get(200));
  this->expect_bytes(0, 0);
  void* const after = this->get(200);
  TypeParam::hold_memory(true);
  TypeParam::return_memory(after);
  this->expect_bytes(0, 288);
}

TYPED_TEST(Every, UnknownThreadsHaveNothing) {
  EXPECT_EQ(TypeParam::inuse(1'000'000), 0u);
  EXPECT_EQ(TypeParam::available(1'000'000), 0u);
  TypeParam::free_available(1'000'000);
}

TYPED_TEST(Every, ThreadsHaveTheirOwnNumbersAndTheNextOneGetsThem) {
  std::size_t first = 0;
  std::size_t second = 0;
  on_another_thread([&] { first = TypeParam::thread(); });
  on_another_thread([&] { second = TypeParam::thread(); });
  EXPECT_NE(first, this->self);
  EXPECT_EQ(first, second);
}

TYPED_TEST(Every, AThreadMayChooseItsNumber) {
  on_another_thread([&] {
    EXPECT_FALSE(TypeParam::bind_thread(this->self));
    EXPECT_TRUE(TypeParam::bind_thread(4711));
    EXPECT_TRUE(TypeParam::bind_thread(4711));
    EXPECT_EQ(TypeParam::thread(), 4711u);
    void* const memory = this->get(100);
    EXPECT_EQ(TypeParam::inuse(4711), 128u);
    TypeParam::return_memory(memory);
  });
  EXPECT_EQ(TypeParam::inuse(4711), 0u);
}

TYPED_TEST(Every, AThreadThatEndsHandsBackWhatItHolds) {
  void* left = nullptr;
  on_another_thread([&] {
    ASSERT_TRUE(TypeParam::bind_thread(4711));
    left = this->get(200);
    TypeParam::return_memory(this->get(300));
  });
  EXPECT_EQ(TypeParam::available(4711), 0u);
  EXPECT_EQ(TypeParam::inuse(4711), 288u);
  EXPECT_FALSE(TypeParam::free_all());
  std::memset(left, 1, 200);
  TypeParam::return_memory(left);
  EXPECT_EQ(TypeParam::inuse(4711), 0u);
}

TYPED_TEST(Every, CountsTheReturnsOfOtherThreadsExactly) {
  std::vector<void*> all;
  for (int k = 0; k < 100; ++k) all.push_back(this->get(200));
  std::size_t returned = 0;
  on_another_thread([&] {
    for (; returned < 50; ++returned) TypeParam::return_memory(all[returned]);
    EXPECT_EQ(TypeParam::inuse(TypeParam::thread()), 0u);
    EXPECT_EQ(TypeParam::available(TypeParam::thread()), 0u);
    // The owner waits, so it counts as sequential; 50 is no multiple of a batch.
    this->expect_bytes(50 * 288, 50 * 288);
  });
  this->expect_bytes(50 * 288, 50 * 288);
  for (; returned < 100; ++returned) TypeParam::return_memory(all[returned]);
  this->expect_bytes(0, 100 * 288);
}

TYPED_TEST(Holding, WhatOthersReturnServesTheOwnerAgain) {
  std::vector<void*> all;
  for (int k = 0; k < 100; ++k) all.push_back(this->get(200));
  on_another_thread([&] {
    for (void* memory : all) TypeParam::return_memory(memory);
  });
  for (void*& memory : all) memory = this->get(200);
  this->expect_bytes(100 * 288, 0);
  for (void* memory : all) TypeParam::return_memory(memory);
}

TYPED_TEST(Every, ManyThreadsAtOnce) {
  std::vector<std::thread> threads;
  std::atomic<int> there{0};
  for (int t = 0; t < 200; ++t)
    threads.emplace_back([&] {
      void* const memory = this->get(200);
      ++there;
      while (there.load() < 200) std::this_thread::yield();
      EXPECT_EQ(TypeParam::inuse(TypeParam::thread()), 288u);
      TypeParam::return_memory(memory);
    });
  for (std::thread& t : threads) t.join();
}

TYPED_TEST(Every, AForkedChildMayGoOnWhileOthersAllocate) {
  std::atomic<bool> stop{false};
  std::thread other([&] {
    while (!stop) TypeParam::return_memory(this->get(200));
  });
  void* const memory = this->get(200);
  for (int k = 0; k < 20; ++k) {
    const pid_t child = fork();
    if (child == 0) {
      TypeParam::return_memory(memory);
      TypeParam::return_memory(this->get(300));
      TypeParam::free_available(this->self);
      _exit(TypeParam::inuse(this->self) == 0 ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  stop = true;
  other.join();
  TypeParam::return_memory(memory);
}

TEST(Mixed, CodeWithAndWithoutChecksSharesMemory) {
  std::size_t capacity = 0;
  corescale::thread_alloc::return_memory(corescale::checked_thread_alloc::get_memory(200, capacity));
  corescale::checked_thread_alloc::return_memory(corescale::thread_alloc::get_memory(200, capacity));
  void* const away = corescale::checked_thread_alloc::get_memory(200, capacity);
  on_another_thread([&] { corescale::thread_alloc::return_memory(away); });
  EXPECT_TRUE(
      corescale::checked_thread_alloc::checked_in_use(corescale::checked_thread_alloc::thread()).empty());
  EXPECT_TRUE(corescale::thread_alloc::free_all());
}

}  // namespace
