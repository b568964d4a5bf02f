// SPDX-License-Identifier: Apache-2.0
#include "profiler/blocks.hpp"

#include <unistd.h>

#include <algorithm>
#include <bit>

#include "profiler/profiler.hpp"

namespace corescale::profiler {
namespace {

constexpr std::uint32_t one_in = 1024;
constexpr std::uint64_t longest_part = 32;  // a block is watched for at most 1/32 of the program's time

// The exponent of the smallest power of two that is at least `size`.
std::uint32_t power_of(std::size_t size) {
  const auto power = static_cast<std::uint32_t>(size > 1 ? std::bit_width(size - 1) : 0);
  return std::min<std::uint32_t>(power, most_sizes - 1);
}

std::int32_t thread_number() { return local.thread ? local.thread->id : gettid(); }

// Whether the watch of this block may end now, although nobody has freed it.
bool gives_way(std::uintptr_t block) {
  if (block == none) return true;
  const std::uint64_t time = cycles();
  return block != changing && time - watched.began.load(std::memory_order_relaxed) >
                                  (time - file->header.first_cycle) / longest_part;
}

}  // namespace

void count_block(const void* block, std::size_t size, std::int64_t calls, std::uint32_t random) {
  BlocksOfSize& counts = file->header.size[power_of(size)];
  add(counts.calls, calls);
  if (!block || random % one_in >= static_cast<std::uint64_t>(calls)) return;
  std::uintptr_t before = watched.block.load(std::memory_order_relaxed);
  if (!gives_way(before) ||
      !watched.block.compare_exchange_strong(before, changing, std::memory_order_acquire))
    return;
  watched.taker = local.thread->id;
  watched.size = power_of(size);
  watched.began.store(cycles(), std::memory_order_relaxed);
  add(counts.watched, 1);
  watched.block.store(reinterpret_cast<std::uintptr_t>(block), std::memory_order_release);
}

bool hold_watch(const void* block) {
  auto address = reinterpret_cast<std::uintptr_t>(block);
  return watched.block.compare_exchange_strong(address, changing, std::memory_order_acquire);
}

void settle_watch(const void* block, bool freed) {
  if (freed && live()) {
    BlocksOfSize& counts = file->header.size[watched.size];
    add(counts.freed, 1);
    if (thread_number() != watched.taker) add(counts.elsewhere, 1);
  }
  watched.block.store(freed ? none : reinterpret_cast<std::uintptr_t>(block), std::memory_order_release);
}

void forget_watch() { watched.block = none; }

}  // namespace corescale::profiler
