// SPDX-License-Identifier: Apache-2.0
// allocate.py starts this once per allocator and block: one line of JSON with its figures, and where
// its malloc() came from, as proof of what was preloaded.
#include "allocate.hpp"

#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "allocate_programs.hpp"
#include "corescale/memory/thread_alloc.hpp"

namespace {

struct system_malloc {
  static void* get(std::size_t bytes) { return std::malloc(bytes); }
  static void put(void* memory) { std::free(memory); }
};

struct ours {
  using alloc = corescale::thread_alloc;
  static void* get(std::size_t bytes) {
    std::size_t capacity = 0;
    return alloc::get_memory(bytes, capacity);
  }
  static void put(void* memory) { alloc::return_memory(memory); }
};

/// Reads the word in front of each block, which its owner wrote: the least that a return takes where a block says itself whose it is.
struct touch : ours {
  static void put(void* memory) {
    std::uintptr_t word = 0;
    std::memcpy(&word, static_cast<char*>(memory) - sizeof word, sizeof word);
    allocate::use(reinterpret_cast<void*>(word));
  }
};

constexpr long pair_count = 5'000'000;
constexpr long program_count = 1'000'000;
constexpr long cross_count = 1'000'000;

const char* library_of_malloc() {
  Dl_info found{};
  return dladdr(reinterpret_cast<void*>(&std::malloc), &found) && found.dli_fname ? found.dli_fname
                                                                                  : "unknown";
}

void print(const char* name, double value) { std::printf(", \"%s\": %.4f", name, value); }

void begin() { std::printf("{\"malloc\": \"%s\"", library_of_malloc()); }

template <class Allocator>
void measure_cross() {
  begin();
  print("cross", allocate::cross_ns<Allocator>(cross_count));
  std::puts("}");
}

void measure_touch() {
  begin();
  print("owners_1", allocate::owners_ns<touch>(1));
  print("owners_16", allocate::owners_ns<touch>(16));
  std::puts("}");
}

template <class Allocator>
void measure() {
  using namespace allocate;
  begin();
  const cost list = list_cost<Allocator>(program_count);  // first, while the process is as small as it was
  print("list", list.ns);
  print("list_mb", list.megabytes);
  print("pair_1", pair_ns<Allocator, size_from_memory>(1, pair_count));
  print("pair_2", pair_ns<Allocator, size_from_memory>(2, pair_count));
  print("register_1", pair_ns<Allocator, size_in_register>(1, pair_count));
  print("register_2", pair_ns<Allocator, size_in_register>(2, pair_count));
  print("hundred", pair_ns<Allocator, hundred_at_once>(1, pair_count));
  print("random", pair_ns<Allocator, random_sizes>(1, program_count));
  print("cross", cross_ns<Allocator>(cross_count));
  print("owners_1", owners_ns<Allocator>(1));
  print("owners_16", owners_ns<Allocator>(16));
  print("first_us", first_request_us<Allocator>());
  print("strings", strings_ns<Allocator>(program_count));
  std::puts("}");
}

struct row {
  const char* name;
  void (*measure)();
};

constexpr std::array rows{row{"malloc", measure<system_malloc>}, row{"per_thread", measure<ours>},
                          row{"hand-off", measure_cross<allocate::no_allocator>},
                          row{"touch", measure_touch}};

}  // namespace

int main(int argc, char** argv) {
  for (const row& one : rows)
    if (argc == 2 && std::strcmp(argv[1], one.name) == 0) return one.measure(), 0;
  std::fprintf(stderr, "usage: %s malloc | per_thread | hand-off | touch\n", argv[0]);
  return 2;
}
