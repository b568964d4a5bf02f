// SPDX-License-Identifier: Apache-2.0
#include "corescale/memory/misuse.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <optional>
#include <string>

#include "allocators_under_test.hpp"
#include "corescale/memory/detail/block.hpp"

namespace {

using corescale::misuse;
using corescale::misuse_report;

std::optional<misuse_report> told;

template <class Alloc>
class Misuse : public thread_alloc_test<Alloc> {
 protected:
  void SetUp() override {
    thread_alloc_test<Alloc>::SetUp();
    told.reset();
    corescale::set_misuse_handler([](const misuse_report& report) { told = report; });
  }
  void TearDown() override {
    corescale::set_misuse_handler(nullptr);
    corescale::set_thread_rules({});
    thread_alloc_test<Alloc>::TearDown();
  }
  void expect_told(misuse kind, const void* memory) {
    ASSERT_TRUE(told.has_value());
    EXPECT_EQ(told->kind, kind);
    EXPECT_EQ(told->memory, memory);
    told.reset();
  }
};
TYPED_TEST_SUITE(Misuse, testing::Types<corescale::checked_thread_alloc>);

bool in_parallel() noexcept { return true; }

TYPED_TEST(Misuse, DoubleReturn) {
  void* const memory = this->get(200);
  TypeParam::return_memory(memory);
  TypeParam::return_memory(memory);
  this->expect_told(misuse::double_return, memory);
  this->expect_bytes(0, 288);
}

TYPED_TEST(Misuse, DoubleReturnByTwoThreads) {
  {
    void* const memory = this->get(200);
    on_another_thread([&] {
      TypeParam::return_memory(memory);
      TypeParam::return_memory(memory);
      EXPECT_EQ(told->caller, TypeParam::thread());
      this->expect_told(misuse::double_return, memory);
    });
    TypeParam::return_memory(memory);
    this->expect_told(misuse::double_return, memory);
  }
}

TYPED_TEST(Misuse, Foreign) {
  alignas(64) std::array<char, 256> bytes{};
  for (const std::size_t offset : {64u, 72u, 80u}) {
    TypeParam::return_memory(bytes.data() + offset);
    this->expect_told(misuse::foreign, bytes.data() + offset);
  }
  TypeParam::return_memory(nullptr);
  this->expect_told(misuse::foreign, nullptr);
}

TYPED_TEST(Misuse, InsideOfABlock) {
  char* const memory = static_cast<char*>(this->get(200));
  TypeParam::return_memory(memory + 48);
  this->expect_told(misuse::foreign, memory + 48);
  TypeParam::return_memory(memory);
  EXPECT_FALSE(told.has_value());
}

TYPED_TEST(Misuse, Overrun) {
  if (address_sanitizer_watches()) GTEST_SKIP() << "which stops the program at the write itself";
  char* const memory = static_cast<char*>(this->get(200));
  const char kept = memory[288];
  memory[288] = static_cast<char>(kept + 1);
  TypeParam::return_memory(memory);
  this->expect_told(misuse::overrun, memory);
  memory[288] = kept;
  TypeParam::return_memory(memory);
}

TYPED_TEST(Misuse, UnderrunIsForeign) {
  if (address_sanitizer_watches()) GTEST_SKIP() << "which stops the program at the write itself";
  int* const memory = static_cast<int*>(this->get(200));
  const int kept = memory[-2];
  memory[-2] = 0;
  TypeParam::return_memory(memory);
  this->expect_told(misuse::foreign, memory);
  memory[-2] = kept;
  TypeParam::return_memory(memory);
}

TYPED_TEST(Misuse, WrongThreadWhereRulesForbidIt) {
  void* const memory = this->get(200);
  corescale::set_thread_rules({in_parallel, false});
  on_another_thread([&] { TypeParam::return_memory(memory); });
  EXPECT_EQ(told->owner, this->self);
  this->expect_told(misuse::wrong_thread, memory);
  this->expect_bytes(288, 0);
  TypeParam::return_memory(memory);
  EXPECT_FALSE(told.has_value());
}

TYPED_TEST(Misuse, WrongThreadAsksForAnothersMemory) {
  corescale::set_thread_rules({in_parallel, true});
  (void)TypeParam::inuse(this->self);
  EXPECT_FALSE(told.has_value());
  (void)TypeParam::inuse(this->self + 1);
  this->expect_told(misuse::wrong_thread, nullptr);
  TypeParam::free_available(this->self + 1);
  this->expect_told(misuse::wrong_thread, nullptr);
  corescale::set_thread_rules({});
}

TYPED_TEST(Misuse, DefaultHandlerThrowsAndNamesIt) {
  corescale::set_misuse_handler(nullptr);
  corescale::set_thread_rules({in_parallel, true});
  try {
    (void)TypeParam::inuse(this->self + 1);
    FAIL();
  } catch (const corescale::memory_misuse& error) {
    EXPECT_EQ(error.report.kind, misuse::wrong_thread);
    EXPECT_NE(std::string(error.what()).find("wrong thread"), std::string::npos);
  }
  corescale::set_thread_rules({});
}

TYPED_TEST(Misuse, AnUnreturnedBlockIsNamed) {
  void* const leaked = this->get(200);
  EXPECT_EQ(TypeParam::checked_in_use(this->self), std::vector<const void*>{leaked});
  TypeParam::return_memory(leaked);
}

struct counted {
  static inline int destroyed = 0;
  long value = 1;
  ~counted() { ++destroyed; }
};

TYPED_TEST(Misuse, AnArrayDeletedTwiceIsDestroyedOnce) {
  {
    std::size_t size = 0;
    counted* const array = TypeParam::template create_array<counted>(3, size);
    counted::destroyed = 0;
    TypeParam::delete_array(array);
    TypeParam::delete_array(array);
    this->expect_told(misuse::double_return, array);
    EXPECT_EQ(counted::destroyed, static_cast<int>(size));
  }
}

TYPED_TEST(Misuse, WhatIsRefusedInParallelModeIsNotDone) {
  TypeParam::return_memory(this->get(200));
  corescale::set_thread_rules({in_parallel, true});
  EXPECT_FALSE(TypeParam::free_all());
  this->expect_told(misuse::wrong_thread, nullptr);
  corescale::set_thread_rules({});
  this->expect_bytes(0, 288);
}

TYPED_TEST(Misuse, AnOldPointerIntoALiveBlockIsForeign) {
  std::size_t capacity = 0;
  void* const old = TypeParam::get_memory(100, capacity, 256);
  TypeParam::return_memory(old);
  void* const live = this->get(300);  // of the same class: the block again, where blocks are held
  TypeParam::return_memory(old);
  this->expect_told(misuse::foreign, old);
  void* const another = this->get(300);
  EXPECT_NE(live, another);
  TypeParam::return_memory(live);
  TypeParam::return_memory(another);
}

/// Two pages of which the first is out of bounds.
class second_page {
 public:
  second_page()
      : pages_(mmap(nullptr, 2 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    mprotect(pages_, size, PROT_NONE);
  }
  ~second_page() { munmap(pages_, 2 * size); }
  second_page(const second_page&) = delete;
  second_page& operator=(const second_page&) = delete;
  void* start() const { return static_cast<char*>(pages_) + size; }

 private:
  static inline const std::size_t size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* pages_;
};

TYPED_TEST(Misuse, ForeignMemoryWithNothingBeforeIt) {
  const second_page page;
  TypeParam::return_memory(page.start());
  this->expect_told(misuse::foreign, page.start());
}

TEST(MisuseDeathTest, ReturningNeverThrowsAndTheEndIsNamed) {
  alignas(16) std::array<char, 256> bytes{};
  static_assert(noexcept(corescale::thread_alloc::return_memory(nullptr)));
  EXPECT_DEATH(corescale::checked_thread_alloc::return_memory(bytes.data() + 64), "foreign");
}

TEST(MisuseWithoutChecks, DoubleReturnOfWhatIsStillHeldIsFound) {
  told.reset();
  corescale::set_misuse_handler([](const misuse_report& report) { told = report; });
  std::size_t capacity = 0;
  void* const memory = corescale::thread_alloc::get_memory(200, capacity);
  corescale::thread_alloc::return_memory(memory);
  corescale::thread_alloc::return_memory(memory);
  ASSERT_TRUE(told.has_value());
  EXPECT_EQ(told->kind, misuse::double_return);
  corescale::set_misuse_handler(nullptr);
  EXPECT_TRUE(corescale::thread_alloc::free_all());
}

TEST(MisuseDeathTest, AddressSanitizerSeesUseAfterReturnAndOverrun) {
  if (!address_sanitizer_watches()) GTEST_SKIP() << "no AddressSanitizer here";
  for (const std::size_t bytes : {20u, 200u}) {
    std::size_t capacity = 0;
    char* const memory = static_cast<char*>(corescale::thread_alloc::get_memory(bytes, capacity));
    EXPECT_DEATH(memory[capacity] = 1, "use-after-poison");
    corescale::thread_alloc::return_memory(memory);
    EXPECT_DEATH(memory[1] = 1, "use-after-poison");
  }
  EXPECT_TRUE(corescale::thread_alloc::free_all());
}

}  // namespace
