// SPDX-License-Identifier: Apache-2.0
// A program whose operator new is checked code: the allocator must not ask it for memory in the middle of anything.
#include <unistd.h>

#include <cstdio>
#include <new>
#include <thread>
#include <vector>

#include "corescale/memory/thread_alloc.hpp"

using corescale::checked_thread_alloc;

void* operator new(std::size_t bytes) {
  std::size_t capacity = 0;
  return checked_thread_alloc::get_memory(bytes, capacity);
}
void operator delete(void* memory) noexcept {
  if (memory) checked_thread_alloc::return_memory(memory);
}
void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }

namespace {

bool lists(std::size_t thread, const void* memory) {
  for (const void* one : checked_thread_alloc::checked_in_use(thread))
    if (one == memory) return true;
  return false;
}

}  // namespace

int main() {
  alarm(30);
  const std::size_t self = checked_thread_alloc::thread();
  const std::vector<int> mine(10);
  bool other_lists = false;
  std::thread([&] { other_lists = lists(self, mine.data()); }).join();
  if (lists(self, mine.data()) && other_lists) return 0;
  std::fprintf(stderr, "memory in use is not listed\n");
  return 1;
}
