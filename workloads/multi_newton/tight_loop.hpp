// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace multi_newton {

inline constexpr std::size_t num_pairs = 100'000;

/// A loop that does nothing but get and return memory. It shows most clearly if threads share an allocator's cache lines.
template <class Alloc>
void get_and_return(std::size_t) {
  constexpr std::size_t bytes = 200;
  for (std::size_t k = 0; k < num_pairs; ++k) {
    std::size_t capacity = 0;
    void* const memory = Alloc::get_memory(bytes, capacity);
    asm volatile("" : : "r"(memory) : "memory");
    Alloc::return_memory(memory);
  }
}

}  // namespace multi_newton
