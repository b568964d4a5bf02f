// SPDX-License-Identifier: Apache-2.0
// allocate.py starts this once per allocator and block: one line of JSON with the three figures, and where
// its malloc() came from, as proof of what was preloaded.
#include "allocate.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "corescale/memory/thread_alloc.hpp"

namespace {

struct system_malloc {
  static void* get(std::size_t bytes) { return std::malloc(bytes); }
  static void put(void* memory) { std::free(memory); }
};

template <class Variant>
struct ours {
  using alloc = corescale::basic_thread_alloc<Variant, false>;
  static void* get(std::size_t bytes) {
    std::size_t capacity = 0;
    return alloc::get_memory(bytes, capacity);
  }
  static void put(void* memory) { alloc::return_memory(memory); }
};

constexpr long pair_count = 5'000'000;
constexpr long cross_count = 1'000'000;

const char* library_of_malloc() {
  Dl_info found{};
  return dladdr(reinterpret_cast<void*>(&std::malloc), &found) && found.dli_fname ? found.dli_fname
                                                                                  : "unknown";
}

template <class Allocator>
void measure_cross() {
  std::printf("{\"malloc\": \"%s\", \"cross\": %.4f}\n", library_of_malloc(),
              allocate::cross_ns<Allocator>(cross_count));
}

template <class Allocator>
void measure() {
  const double one = allocate::pair_ns<Allocator>(1, pair_count);
  const double two = allocate::pair_ns<Allocator>(2, pair_count);
  const double cross = allocate::cross_ns<Allocator>(cross_count);
  std::printf("{\"malloc\": \"%s\", \"pair_1\": %.4f, \"pair_2\": %.4f, \"cross\": %.4f}\n",
              library_of_malloc(), one, two, cross);
}

struct row {
  const char* name;
  void (*measure)();
};

constexpr std::array rows{row{"malloc", measure<system_malloc>},
                          row{"per_thread", measure<ours<corescale::alloc_variant::per_thread>>},
                          row{"contiguous", measure<ours<corescale::alloc_variant::contiguous>>},
                          row{"system", measure<ours<corescale::alloc_variant::system>>},
                          row{"hand-off", measure_cross<allocate::no_allocator>}};

}  // namespace

int main(int argc, char** argv) {
  for (const row& one : rows)
    if (argc == 2 && std::strcmp(argv[1], one.name) == 0) return one.measure(), 0;
  std::fprintf(stderr, "usage: %s malloc | per_thread | contiguous | system | hand-off\n", argv[0]);
  return 2;
}
