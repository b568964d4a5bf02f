// SPDX-License-Identifier: Apache-2.0
// Which thread frees a block that another took. One block of the process is watched at a time, so that a free compares its pointer with
// one word. Which block is next is random: each call has the same chance.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace corescale::profiler {

// The block is an address, or one of these, which are no addresses.
inline constexpr std::uintptr_t none = 1, changing = 2;

struct alignas(64) Watched {
  std::atomic<std::uintptr_t> block{none};
  std::atomic<std::uint64_t> began{0};  // in cycles
  // Only whoever has set `changing` reads and writes these.
  std::int32_t taker = 0;
  std::uint32_t size = 0;
};
inline constinit Watched watched;

inline bool is_watched(const void* block) {
  const auto address = reinterpret_cast<std::uintptr_t>(block);
  return __builtin_expect(watched.block.load(std::memory_order_relaxed) == address, 0);
}

// Counts calls that took blocks of this size, and may begin to watch the block that one of them got: if none is watched, one call in 1,024
// begins a watch. A block that nobody frees gives way to another once it was watched for 1/32 of the program's time.
void count_block(const void* block, std::size_t size, std::int64_t calls, std::uint32_t random);

// The calling thread is about to free a watched block, or to change its size. Whether it still was watched; if so, settle_watch() comes next.
bool hold_watch(const void* block);
void settle_watch(const void* block, bool freed);

inline void end_watch(const void* block) {
  if (hold_watch(block)) settle_watch(block, true);
}

void forget_watch();  // in a child of a fork, where another thread may have been changing it

}  // namespace corescale::profiler
