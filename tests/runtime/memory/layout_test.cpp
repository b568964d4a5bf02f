// SPDX-License-Identifier: Apache-2.0
// Which threads share cache lines is what tells the variants apart, so it is asserted by address.
#include "allocators_under_test.hpp"
#include "corescale/machine/cache_line.hpp"

namespace {

constexpr std::size_t hardware_line = 64;

template <class T>
std::uintptr_t address(T& object) {
  return reinterpret_cast<std::uintptr_t>(&object);
}

/// function(pool of one thread, pool of another), both alive.
template <class Variant, class Function>
void with_two_pools(Function function) {
  using pool = corescale::detail::pool<Variant>;
  pool& mine = pool::attached();
  on_another_thread([&] { function(mine, pool::attached()); });
}

TEST(Layout, PerThreadSharesNoLine) {
  with_two_pools<corescale::alloc_variant::per_thread>([](auto& a, auto& b) {
    EXPECT_EQ(address(a) % corescale::cache_line, 0u);
    EXPECT_EQ(address(b) % corescale::cache_line, 0u);
    EXPECT_EQ(sizeof(a) % corescale::cache_line, 0u);
    EXPECT_TRUE(address(a) + sizeof(a) <= address(b) || address(b) + sizeof(b) <= address(a));
  });
}

TEST(Layout, SeparateHasTheRootsAndCountsOfContiguousInAStructureOfItsOwn) {
  with_two_pools<corescale::alloc_variant::separate>([](auto& a, auto& b) {
    for (const auto* each : {&a, &b}) {
      const std::uintptr_t first = address(*each), end = first + sizeof(*each);
      for (const std::uintptr_t part : {address(*each->slice().roots), address(*each->slice().inuse),
                                        address(*each->slice().available)}) {
        EXPECT_GE(part, first);
        EXPECT_LT(part, end);
      }
    }
    EXPECT_EQ(sizeof(a) % corescale::cache_line, 0u);
  });
}

TEST(Layout, TheInboxThatOthersWriteIsOnItsOwnLine) {
  with_two_pools<corescale::alloc_variant::per_thread>([](auto& a, auto&) {
    EXPECT_EQ(address(a.inbox) % corescale::cache_line, 0u);
    EXPECT_LT(address(a.accepts), address(a.inbox));
    EXPECT_LE(sizeof(typename std::remove_reference_t<decltype(a)>::accounts), address(a.inbox) - address(a));
  });
}

TEST(Layout, ContiguousThreadsShareTheLinesOfCountersAndRoots) {
  using corescale::detail::num_lists;
  corescale::basic_thread_alloc<corescale::alloc_variant::contiguous>::bind_thread(0);
  with_two_pools<corescale::alloc_variant::contiguous>([](auto& a, auto& b) {
    ASSERT_EQ(b.number, a.number + 1);
    EXPECT_EQ(address(*a.slice().inuse) / hardware_line, address(*b.slice().inuse) / hardware_line);
    EXPECT_EQ(address(*a.slice().available) / hardware_line, address(*b.slice().available) / hardware_line);
    EXPECT_EQ(address(*b.slice().roots), address(*a.slice().roots) + num_lists * sizeof(void*));
    EXPECT_EQ(address(*b.slice().roots), address(a.slice().roots[num_lists - 1]) + sizeof(void*));
  });
}

}  // namespace
