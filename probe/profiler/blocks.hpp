// SPDX-License-Identifier: Apache-2.0
// Finds out which thread frees a block. One block of the process is watched at a time, so that a free compares its pointer with one word.
// The next block is chosen at random, with the same chance for each call.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace corescale::profiler {

// A watched block is an address or one of these values, which are not addresses.
inline constexpr std::uintptr_t none = 1, changing = 2;

struct alignas(64) Watched {
  std::atomic<std::uintptr_t> block{none};
  std::atomic<std::uint64_t> began{0};  // in cycles
  // Only the thread that has set `changing` reads and writes these.
  std::int32_t taker = 0;
  std::uint32_t size = 0;
};
inline constinit Watched watched;

inline bool is_watched(const void* block) {
  const auto address = reinterpret_cast<std::uintptr_t>(block);
  return __builtin_expect(watched.block.load(std::memory_order_relaxed) == address, 0);
}

// Counts calls that allocated blocks of this size. If no block is watched, one call in 1,024 begins to watch its block. A block that
// nobody frees is given up after 1/32 of the program's time.
void count_block(const void* block, std::size_t size, std::int64_t calls, std::uint32_t random);

// Called before a thread frees a watched block or changes its size. Returns whether the block is still watched; if so, call
// settle_watch() next.
bool hold_watch(const void* block);
void settle_watch(const void* block, bool freed);

inline void end_watch(const void* block) {
  if (hold_watch(block)) settle_watch(block, true);
}

void forget_watch();  // in a child of a fork, where another thread may have been changing it

}  // namespace corescale::profiler
