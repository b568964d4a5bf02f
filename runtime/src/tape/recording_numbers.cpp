// SPDX-License-Identifier: Apache-2.0
#include <atomic>

#include "corescale/tape/detail/recorder.hpp"

namespace corescale::inline v0::detail {
namespace {

// Threads draw numbers in blocks, so that two that record short functions do not meet at the counter.
constexpr std::uint32_t block = 4096;
std::atomic<std::uint32_t> next_block{0};

struct numbers {
  std::uint32_t next = 0;
  std::uint32_t end = 0;
};
constinit thread_local numbers mine;

}  // namespace

std::uint32_t next_recording() {
  if (mine.next == mine.end) {
    const std::uint32_t first = next_block.fetch_add(block, std::memory_order_relaxed);
    mine = {first == 0 ? none_open + 1 : first, first + block};
  }
  return mine.next++;
}

}  // namespace corescale::detail
