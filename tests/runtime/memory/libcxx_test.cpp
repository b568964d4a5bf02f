// SPDX-License-Identifier: Apache-2.0
// C++23 with libc++, whose containers from version 15 on ask the allocator for an std::allocation_result.
#include <cstdio>
#include <list>
#include <string>
#include <vector>

#include "corescale/memory/capacity_vector.hpp"
#include "corescale/memory/thread_alloc.hpp"
#include "corescale/memory/thread_allocator.hpp"

int main() {
  using text = std::basic_string<char, std::char_traits<char>, corescale::thread_allocator<char>>;
  long sum = 0;
  {
    std::vector<int, corescale::thread_allocator<int>> numbers;
    for (int k = 0; k < 1000; ++k) numbers.push_back(k);
    const std::list<int, corescale::thread_allocator<int>> list(numbers.begin(), numbers.end());
    const std::vector<text, corescale::thread_allocator<text>> texts(10, text(100, 'x'));
    corescale::capacity_vector<int> all(list.begin(), list.end());
    for (const int k : all) sum += k;
    sum += static_cast<long>(texts.back().size());
  }
  const bool good = sum == 999 * 1000 / 2 + 100 && corescale::thread_alloc::free_all();
#ifdef __cpp_lib_allocate_at_least
  std::puts(good ? "good, with std::allocation_result" : "wrong");
#else
  std::puts(good ? "good, without std::allocation_result: this library has none" : "wrong");
#endif
  return good ? 0 : 1;
}
