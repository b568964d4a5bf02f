// SPDX-License-Identifier: Apache-2.0
// That threads share no cache lines is what makes the allocator fast, so it is asserted by address.
#include "allocators_under_test.hpp"
#include "corescale/machine/cache_line.hpp"

namespace {

template <class T>
std::uintptr_t address(T& object) {
  return reinterpret_cast<std::uintptr_t>(&object);
}

/// function(pool of one thread, pool of another), both alive.
template <class Function>
void with_two_pools(Function function) {
  using pool = corescale::detail::pool;
  pool& mine = pool::attached();
  on_another_thread([&] { function(mine, pool::attached()); });
}

TEST(Layout, PerThreadSharesNoLine) {
  with_two_pools([](auto& a, auto& b) {
    EXPECT_EQ(address(a) % corescale::cache_line, 0u);
    EXPECT_EQ(address(b) % corescale::cache_line, 0u);
    EXPECT_EQ(sizeof(a) % corescale::cache_line, 0u);
    EXPECT_TRUE(address(a) + sizeof(a) <= address(b) || address(b) + sizeof(b) <= address(a));
  });
}

TEST(Layout, TheInboxThatOthersWriteIsOnItsOwnLine) {
  with_two_pools([](auto& a, auto&) {
    EXPECT_EQ(address(a.inbox) % corescale::cache_line, 0u);
    EXPECT_LT(address(a.accepts), address(a.inbox));
    EXPECT_LE(sizeof(corescale::detail::accounts), address(a.inbox) - address(a));
  });
}

}  // namespace
