// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "driver/heap.hpp"

namespace driver {

/// PlainHeap that counts, for each thread, the blocks that it frees and another thread allocated. Each block has one more byte, for the
/// number of the thread that allocated it.
class OwnedHeap {
 public:
  static void* allocate(std::size_t bytes) {
    Thread& mine = thread();
    ++mine.account.allocations;
    mine.account.bytes += bytes;
    void* const block = ::operator new(bytes + 1);
    static_cast<unsigned char*>(block)[bytes] = mine.number;
    return block;
  }

  static void deallocate(void* block, std::size_t bytes) noexcept {
    Thread& mine = thread();
    ++mine.account.freed;
    if (static_cast<unsigned char*>(block)[bytes] != mine.number) ++mine.account.freed_elsewhere;
    give_back(block, bytes + 1);
  }

  static void start() noexcept { thread().account = {}; }
  static void work(bool /*working*/) noexcept {}
  static Account stop() noexcept { return std::exchange(thread().account, {}); }

 private:
  struct Thread {
    Account account;
    unsigned char number = next_.fetch_add(1, std::memory_order_relaxed);  // more than 256 threads share some
  };

  static Thread& thread() noexcept {
    thread_local Thread mine;
    return mine;
  }

  static inline std::atomic<unsigned char> next_ = 0;
};

}  // namespace driver
