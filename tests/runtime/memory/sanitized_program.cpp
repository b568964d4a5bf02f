// SPDX-License-Identifier: Apache-2.0
// A program under AddressSanitizer with LeakSanitizer, and the library as it is, with them or without: no
// report where nothing is wrong, and one where memory is used after its return.
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "corescale/memory/thread_alloc.hpp"

namespace {

using namespace corescale;

void hold_return_and_free() {
  using alloc = thread_alloc;
  std::size_t capacity = 0;
  std::vector<void*> all;
  for (const std::size_t bytes : {20u, 200u, 2000u, 20000u})
    for (int k = 0; k < 100; ++k) all.push_back(alloc::get_memory(bytes, capacity));
  std::thread([&all] {
    std::size_t of_thread = 0;
    alloc::return_memory(alloc::get_memory(200, of_thread));
    for (std::size_t k = 0; k < all.size() / 2; ++k) alloc::return_memory(all[2 * k]);
  }).join();
  for (std::size_t k = 0; k < all.size() / 2; ++k) alloc::return_memory(all[2 * k + 1]);
  alloc::free_all();
  for (void*& memory : all)
    std::memset(memory = std::malloc(200), 1, 200);  // what the system has again may be used
  for (void* memory : all) std::free(memory);
  for (void*& memory : all) memory = alloc::get_memory(200, capacity);
  for (void* memory : all) alloc::return_memory(memory);  // kept until the end, which is no leak
  alloc::return_memory(alloc::get_memory(20, capacity));
}

void use_after_return() {
  std::size_t capacity = 0;
  char* const memory = static_cast<char*>(thread_alloc::get_memory(200, capacity));
  thread_alloc::return_memory(memory);
  static_cast<volatile char*>(memory)[100] = 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "use-after-return") == 0) use_after_return();
  hold_return_and_free();
}
