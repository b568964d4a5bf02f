// SPDX-License-Identifier: Apache-2.0
// The parts below malloc(), called by their own names, so that sanitizers can watch them.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "../../../../runtime/src/memory/under_malloc/heap.hpp"
#include "../../../../runtime/src/memory/under_malloc/mappings.hpp"

namespace {

using namespace corescale::process_heap;  // NOLINT

TEST(MallocSizes, AClassHoldsItsSizesWithAnEighthOfWaste) {
  for (std::size_t bytes = 0; bytes <= largest_block; ++bytes) {
    const std::size_t c = class_of(bytes);
    ASSERT_GE(class_size(c), bytes);
    ASSERT_TRUE(c == 0 || class_size(c - 1) < bytes);
    ASSERT_LE(class_size(c) - bytes, bytes > 128 ? bytes / 8 : 16) << bytes;
    ASSERT_EQ(class_size(c) % 16, 0U);
  }
  EXPECT_EQ(class_size(num_classes - 1), largest_block);
}

/// A block with what it was filled with.
struct filled {
  unsigned char* memory = nullptr;
  std::size_t bytes = 0;
  unsigned char value = 0;

  void fill() const {
    if (memory) std::memset(memory, value, bytes);
  }
  bool is_whole(std::size_t first_bytes) const {
    for (std::size_t k = 0; k < first_bytes; ++k)
      if (memory[k] != value) return false;
    return true;
  }
};

std::size_t any_size(std::minstd_rand& draw) {
  const unsigned kind = draw() % 1000;
  if (kind < 900) return draw() % 600;
  if (kind < 990) return draw() % 70'000;
  return kind < 999 ? draw() % 2'500'000 : draw() % 6'000'000;
}

/// One step of a random sequence: whatever it takes keeps its contents until it is returned. False where it does not.
bool step(std::minstd_rand& draw, filled& one) {
  switch (draw() % 5) {
    case 0: {
      if (!one.memory) return true;
      const std::size_t bytes = any_size(draw) + 1;
      one.memory = static_cast<unsigned char*>(resize(one.memory, bytes));
      if (!one.is_whole(bytes < one.bytes ? bytes : one.bytes)) return false;
      one.bytes = bytes;
      break;
    }
    case 1:
    case 2: {
      if (one.memory && !one.is_whole(one.bytes)) return false;
      give(one.memory);
      one = {};
      break;
    }
    case 3: {
      give(one.memory);
      const std::size_t alignment = std::size_t{1} << draw() % 19;
      one.bytes = any_size(draw);
      one.memory = static_cast<unsigned char*>(take_aligned(one.bytes, alignment));
      if (reinterpret_cast<std::uintptr_t>(one.memory) % alignment) return false;
      break;
    }
    default: {
      give(one.memory);
      one.bytes = any_size(draw);
      one.value = 0;
      one.memory = static_cast<unsigned char*>(take_zeroed(one.bytes));
      if (!one.is_whole(one.bytes)) return false;
    }
  }
  if (one.memory && usable_bytes(one.memory) < one.bytes) return false;
  one.value = static_cast<unsigned char>(draw());
  one.fill();
  return true;
}

TEST(Malloc, RandomSequencesKeepWhatBlocksHold) {
  std::minstd_rand draw(31);
  std::vector<filled> held(300);
  for (int k = 0; k < 20'000; ++k) ASSERT_TRUE(step(draw, held[draw() % held.size()])) << k;
  for (const filled& one : held) give(one.memory);
  trim();
  EXPECT_EQ(count_mappings().kept_bytes, 0U);
}

// One block of another size for each that is given back: most of its pages are there already.
TEST(Malloc, LargeBlocksOfAnySizeAreMadeOfThoseThatWereGivenBack) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "its account of what was written has pages of its own";
#endif
  std::minstd_rand draw(5);
  std::vector<filled> held(10);
  std::size_t bytes = 0;
  const auto turn = [&](filled& one) {
    filled next;
    next.bytes = (5 + draw() % 8) << 20;
    next.memory = static_cast<unsigned char*>(take(next.bytes));
    next.fill();
    give(one.memory);
    bytes += next.bytes;
    one = next;
  };
  for (filled& one : held) turn(one);
  const auto faults = [] {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    return static_cast<std::size_t>(used.ru_minflt);
  };
  const std::size_t before = faults();
  bytes = 0;
  for (int k = 0; k < 100; ++k) turn(held[draw() % held.size()]);
  EXPECT_LT(4096 * (faults() - before), bytes / 2);
  for (const filled& one : held) give(one.memory);
}

// It is in the cache, in whatever page it lies.
TEST(Malloc, ARequestGetsTheBlockOfItsSizeThatCameBackLast) {
  std::vector<void*> blocks(500);
  for (void*& one : blocks) one = take(1000);
  for (std::size_t k = 0; k < blocks.size(); k += 7) {
    give(blocks[k]);
    ASSERT_EQ(take(1000), blocks[k]) << k;
  }
  for (void* const one : blocks) give(one);
}

TEST(Malloc, ThreadsReturnWhatOthersTook) {
  constexpr std::size_t room = 256;
  std::vector<std::atomic<std::uint64_t*>> places(room);
  std::atomic<bool> good{true};
  for (int round = 0; round < 3; ++round) {
    std::vector<std::thread> crew;
    for (unsigned seed = 1; seed <= 4; ++seed)
      crew.emplace_back([&, seed] {
        std::minstd_rand draw(seed);
        for (int k = 0; k < 30'000; ++k) {
          const std::size_t words = 1 + draw() % 300;
          auto* const mine = static_cast<std::uint64_t*>(take(words * 8));
          mine[0] = words;
          mine[words - 1] = words;
          std::uint64_t* const other = places[draw() % room].exchange(mine, std::memory_order_acq_rel);
          if (!other) continue;
          if (other[other[0] - 1] != other[0]) good = false;
          give(other);
        }
      });
    for (std::thread& one : crew) one.join();
  }
  EXPECT_TRUE(good);
  for (auto& place : places) give(place.load());
  EXPECT_LE(count_heaps().heaps, 6U);
}

TEST(Malloc, AThreadsMemoryIsFreeOnceAllOfItIsReturned) {
  trim();
  const std::size_t before = count_spans().used_slices;
  std::vector<void*> blocks(50'000);
  std::thread([&] {
    for (void*& one : blocks) one = take(200);
  }).join();
  EXPECT_GT(count_spans().used_slices, before + 100);
  std::thread([&] {
    for (void* const one : blocks) give(one);
  }).join();
  trim();
  EXPECT_LE(count_spans().used_slices, before + 3);
}

// Not a new page each time, which took 25 times as long.
TEST(Malloc, SizesInTurnKeepTheirPages) {
  std::thread([] {
    std::array<void*, 8> last{};
    for (int round = 0; round < 20; ++round)
      for (std::size_t k = 0; k < last.size(); ++k) give(last[k] = take(3000 + 700 * k));
    for (std::size_t k = 0; k < last.size(); ++k)
      EXPECT_EQ(usable_bytes(last[k]), class_size(class_of(3000 + 700 * k)));
  }).join();
}

// So what it returns goes home in parcels.
TEST(Malloc, AThreadThatOnlyReturnsHasAHeap) {
  std::vector<void*> blocks(100);
  for (void*& one : blocks) one = take(64);
  const auto with_a_thread = [] { return count_heaps().heaps - count_heaps().abandoned; };
  const std::size_t before = with_a_thread();
  std::size_t meanwhile = 0;
  std::thread([&] {
    for (void* const one : blocks) give(one);
    meanwhile = with_a_thread();
  }).join();
  EXPECT_EQ(meanwhile, before + 1);
  EXPECT_EQ(with_a_thread(), before);
}

// Of either version of control groups, and of a container in which the path is the host's.
TEST(Malloc, TheMemoryLimitIsTheLeastOfTheGroupsThatAreThere) {
  const std::filesystem::path root =
      std::filesystem::temp_directory_path() / ("corescale_" + std::to_string(getpid()));
  const auto write = [&](const std::string& name, const char* text) {
    const auto path = root / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  };
  const auto limit = [&] { return memory_limit(root.c_str()); };
  EXPECT_EQ(limit(), SIZE_MAX);
  write("proc/self/cgroup", "4:memory:/\n0::/outer/inner\n");
  EXPECT_EQ(limit(), SIZE_MAX);
  write("sys/fs/cgroup/outer/inner/memory.max", "max\n");
  write("sys/fs/cgroup/outer/memory.max", "300\n");
  EXPECT_EQ(limit(), 300U);
  write("sys/fs/cgroup/outer/inner/memory.high", "200\n");
  EXPECT_EQ(limit(), 200U);
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "100\n");
  EXPECT_EQ(limit(), 100U);
  write("proc/self/cgroup", "5:cpu,memory:/of/the/host\n");
  EXPECT_EQ(limit(), 100U);
  std::filesystem::remove_all(root);
}

TEST(Malloc, ForeignMemoryHasNoSize) {
  int local = 0;
  EXPECT_EQ(usable_bytes(&local), 0U);
  EXPECT_EQ(usable_bytes(nullptr), 0U);
}

}  // namespace
