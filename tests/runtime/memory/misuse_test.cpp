// SPDX-License-Identifier: Apache-2.0
#include "corescale/memory/misuse.hpp"

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
TYPED_TEST_SUITE(Misuse, checked_allocators);

bool in_parallel() noexcept { return true; }

TYPED_TEST(Misuse, DoubleReturn) {
  if constexpr (TypeParam::variant::holds) {  // or the block is the system's again
    void* const memory = this->get(200);
    TypeParam::return_memory(memory);
    TypeParam::return_memory(memory);
    this->expect_told(misuse::double_return, memory);
    this->expect_bytes(0, 288);
  }
}

TYPED_TEST(Misuse, DoubleReturnByTwoThreads) {
  if constexpr (TypeParam::variant::holds) {
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

TYPED_TEST(Misuse, OfAnotherVariant) {
  using other =
      std::conditional_t<std::is_same_v<TypeParam, system_checked>, per_thread_checked, system_checked>;
  std::size_t capacity = 0;
  void* const memory = other::get_memory(200, capacity);
  TypeParam::return_memory(memory);
  this->expect_told(misuse::foreign, memory);
  other::return_memory(memory);
}

#ifndef CORESCALE_ADDRESS_SANITIZER  // which stops the program at the write itself
TYPED_TEST(Misuse, Overrun) {
  char* const memory = static_cast<char*>(this->get(200));
  const char kept = memory[288];
  memory[288] = static_cast<char>(kept + 1);
  TypeParam::return_memory(memory);
  this->expect_told(misuse::overrun, memory);
  memory[288] = kept;
  TypeParam::return_memory(memory);
}

TYPED_TEST(Misuse, UnderrunIsForeign) {
  int* const memory = static_cast<int*>(this->get(200));
  const int kept = memory[-2];
  memory[-2] = 0;
  TypeParam::return_memory(memory);
  this->expect_told(misuse::foreign, memory);
  memory[-2] = kept;
  TypeParam::return_memory(memory);
}
#endif

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
  alignas(16) std::array<char, 256> bytes{};
  try {
    TypeParam::return_memory(bytes.data() + 64);
    FAIL();
  } catch (const corescale::memory_misuse& error) {
    EXPECT_EQ(error.report.kind, misuse::foreign);
    EXPECT_NE(std::string(error.what()).find("foreign"), std::string::npos);
  }
}

TYPED_TEST(Misuse, AnUnreturnedBlockIsNamed) {
  void* const leaked = this->get(200);
  EXPECT_EQ(TypeParam::checked_in_use(this->self), std::vector<const void*>{leaked});
  TypeParam::return_memory(leaked);
}

TEST(MisuseWithoutChecks, DoubleReturnOfWhatIsStillHeldIsFound) {
  std::size_t capacity = 0;
  void* const memory = per_thread_fast::get_memory(200, capacity);
  per_thread_fast::return_memory(memory);
  EXPECT_THROW(per_thread_fast::return_memory(memory), corescale::memory_misuse);
  EXPECT_TRUE(per_thread_fast::free_all());
}

#ifdef CORESCALE_ADDRESS_SANITIZER
TEST(MisuseDeathTest, AddressSanitizerSeesUseAfterReturnAndOverrun) {
  std::size_t capacity = 0;
  char* const memory = static_cast<char*>(per_thread_fast::get_memory(200, capacity));
  EXPECT_DEATH(memory[capacity] = 1, "use-after-poison");
  per_thread_fast::return_memory(memory);
  EXPECT_DEATH(memory[100] = 1, "use-after-poison");
  EXPECT_TRUE(per_thread_fast::free_all());
}
#endif

}  // namespace
