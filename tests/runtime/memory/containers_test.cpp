// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <list>
#include <map>
#include <memory>
#include <memory_resource>
#include <numeric>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "allocators_under_test.hpp"
#include "corescale/memory/capacity_vector.hpp"
#include "corescale/memory/thread_allocator.hpp"
#include "corescale/memory/thread_resource.hpp"

namespace {

template <class Alloc>
class Containers : public thread_alloc_test<Alloc> {};
TYPED_TEST_SUITE(Containers, every_allocator);

TYPED_TEST(Containers, StandardOnesUseTheAllocator) {
  using corescale::thread_allocator;
  std::vector<int, thread_allocator<int, TypeParam>> numbers(1000);
  std::iota(numbers.begin(), numbers.end(), 0);
  std::list<int, thread_allocator<int, TypeParam>> list(numbers.begin(), numbers.end());
  using entry = std::pair<const int, std::string>;
  std::map<int, std::string, std::less<>, thread_allocator<entry, TypeParam>> tree;
  std::unordered_map<int, std::string, std::hash<int>, std::equal_to<>, thread_allocator<entry, TypeParam>>
      table;
  for (int n : list) tree[n] = table[n] = std::to_string(n);
  EXPECT_GT(TypeParam::inuse(this->self), 1000u * (24 + 56 + 56));
  EXPECT_EQ(std::accumulate(list.begin(), list.end(), 0), 999 * 1000 / 2);
  EXPECT_TRUE(std::ranges::all_of(numbers, [&](int n) { return tree.at(n) == table.at(n); }));
  auto moved = std::move(numbers);
  EXPECT_EQ(moved.size(), 1000u);
}

TYPED_TEST(Containers, AllocatorsAreAllEqual) {
  const corescale::thread_allocator<int, TypeParam> ints;
  const corescale::thread_allocator<double, TypeParam> doubles(ints);
  EXPECT_TRUE(ints == doubles);
  using traits = std::allocator_traits<corescale::thread_allocator<int, TypeParam>>;
  static_assert(traits::is_always_equal::value);
  static_assert(std::is_same_v<typename traits::template rebind_alloc<double>,
                               corescale::thread_allocator<double, TypeParam>>);
}

struct alignas(256) wide {
  char bytes[256];
};

TYPED_TEST(Containers, AllocatorAlignsAndRefusesOverflow) {
  corescale::thread_allocator<wide, TypeParam> wides;
  const auto [memory, count] = wides.allocate_at_least(3);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 256, 0u);
  EXPECT_GE(count, 3u);
  wides.deallocate(memory, count);
  EXPECT_THROW((void)wides.allocate(static_cast<std::size_t>(-1) / 256 + 1), std::bad_array_new_length);
}

TYPED_TEST(Containers, PolymorphicResource) {
  std::pmr::memory_resource* const resource = corescale::thread_resource<TypeParam>();
  for (std::size_t alignment = 1; alignment <= 4096; alignment *= 2)
    for (const std::size_t bytes : {1u, 100u, 10000u}) {
      void* const memory = resource->allocate(bytes, alignment);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % alignment, 0u);
      resource->deallocate(memory, bytes, alignment);
    }
  std::pmr::map<int, std::pmr::string> tree(resource);
  for (int n = 0; n < 100; ++n) tree.emplace(n, "a text that is too long to be kept in place");
  EXPECT_EQ(tree.at(99).get_allocator().resource(), resource);
  EXPECT_GE(TypeParam::inuse(this->self), 100u * (sizeof(std::pair<int, std::pmr::string>) + 44));
}

TYPED_TEST(Containers, PolymorphicResourcesOfOneKindAreEqual) {
  corescale::basic_thread_resource<TypeParam> other;
  EXPECT_TRUE(corescale::thread_resource<TypeParam>()->is_equal(other));
  EXPECT_FALSE(other.is_equal(*std::pmr::new_delete_resource()));
}

TYPED_TEST(Containers, VectorUsesTheCapacityItWasGiven) {
  corescale::capacity_vector<double, TypeParam> v;
  v.push_back(0);
  EXPECT_EQ(v.capacity(), TypeParam::capacity_of(v.data()) / sizeof(double));
  std::size_t moves = 0;
  for (const double* before = v.data(); v.size() < 100'000; before = v.data()) {
    v.push_back(static_cast<double>(v.size()));
    moves += v.data() != before;
  }
  EXPECT_LE(moves, 27u);  // log(800'000 / 24) / log 1.5 = 25.7
  for (std::size_t k = 0; k < v.size(); ++k) ASSERT_EQ(v[k], static_cast<double>(k));
  EXPECT_EQ(v.capacity(), TypeParam::capacity_of(v.data()) / sizeof(double));
}

TYPED_TEST(Containers, VectorBehavesAsStdVector) {
  corescale::capacity_vector<std::string, TypeParam> v{"a", "b", "c"};
  auto copy = v;
  EXPECT_EQ(copy, v);
  copy.resize(5, copy[1]);
  EXPECT_EQ(copy.back(), "b");
  EXPECT_NE(copy, v);
  copy.resize(2);
  copy.pop_back();
  EXPECT_EQ(copy.size(), 1u);
  v = std::move(copy);
  EXPECT_EQ(v.front(), "a");
  EXPECT_THROW((void)v.at(1), std::out_of_range);
  for (int k = 0; k < 1000; ++k) v.push_back(v.front());  // from itself, over each growth
  EXPECT_TRUE(std::ranges::all_of(v, [](const std::string& text) { return text == "a"; }));
  v.resize(2000);
  EXPECT_EQ(v.back(), "");
  const std::size_t capacity = v.capacity();
  v.clear();
  EXPECT_TRUE(v.empty());
  EXPECT_EQ(v.capacity(), capacity);
  corescale::capacity_vector<std::unique_ptr<int>, TypeParam> owners;
  for (int k = 0; k < 100; ++k) owners.push_back(std::make_unique<int>(k));
  EXPECT_EQ(*owners[99], 99);
}

struct throws_on_third_copy {
  explicit throws_on_third_copy(int n) : value(n) {}
  throws_on_third_copy(const throws_on_third_copy& other) : value(other.value) {
    if (++copies == 3) throw std::runtime_error("third copy");
  }
  int value;
  static inline int copies = 0;
};

TYPED_TEST(Containers, VectorKeepsItsElementsWhenGrowthThrows) {
  corescale::capacity_vector<throws_on_third_copy, TypeParam> v;
  v.reserve(1);
  while (v.size() < v.capacity()) v.emplace_back(static_cast<int>(v.size()));
  const std::size_t size = v.size();
  throws_on_third_copy::copies = 0;
  EXPECT_THROW(v.emplace_back(7), std::runtime_error);
  ASSERT_EQ(v.size(), size);
  for (std::size_t k = 0; k < size; ++k) EXPECT_EQ(v[k].value, static_cast<int>(k));
}

TYPED_TEST(Containers, VectorOfOverAligned) {
  corescale::capacity_vector<wide, TypeParam> v(10);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(v.data()) % 256, 0u);
  corescale::capacity_vector<bool, TypeParam> bits(3, true);
  EXPECT_EQ(*bits.data(), true);
}

}  // namespace
