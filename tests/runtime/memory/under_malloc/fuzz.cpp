// SPDX-License-Identifier: Apache-2.0
// Random sequences of requests: any sizes and alignments, by threads that end and return what others took, while the process forks.
//   malloc_fuzz [SECONDS [SEED]]     over malloc(), or over its parts where a sanitizer has a malloc() of its own
// What a block holds must not change until it is returned. The seed is printed: of one thread it gives the same sequence again.
#include <malloc.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#ifdef CORESCALE_OVER_PARTS
#include "../../../../runtime/src/memory/under_malloc/heap.hpp"
#include "../../../../runtime/src/memory/under_malloc/system.hpp"
namespace corescale::process_heap {
// As the library's constructor does, before the first thread.
inline void begin() {
  read_environment();
  begin_process();
}
}  // namespace corescale::process_heap
namespace tried = corescale::process_heap;
constexpr bool forks = false;  // the sanitizers' own threads do not survive it
#else
constexpr bool forks = true;
namespace tried {
inline void begin() {}
inline void* take(std::size_t bytes) { return malloc(bytes); }
inline void* take_zeroed(std::size_t bytes) { return calloc(1, bytes); }
inline void* take_aligned(std::size_t bytes, std::size_t alignment) {
  return aligned_alloc(alignment, bytes);
}
inline void* resize(void* memory, std::size_t bytes) { return realloc(memory, bytes); }
inline void give(void* memory) { free(memory); }
inline std::size_t usable_bytes(void* memory) { return malloc_usable_size(memory); }
inline bool trim() { return malloc_trim(0) != 0; }
}  // namespace tried
#endif

namespace {

using random_numbers = std::minstd_rand;

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "malloc_fuzz: %s\n", what);
  std::_Exit(1);
}

/// Every byte of a small block is looked at, and of a large one the ends and some between.
template <class Function>
void for_some(std::size_t bytes, Function function) {
  for (std::size_t k = 0; k < bytes;
       k += k < 256 || bytes - k <= 64 ? 1 : std::min<std::size_t>(997, bytes - k - 64))
    function(k);
}

struct block {
  unsigned char* memory = nullptr;
  std::size_t bytes = 0;
  unsigned char value = 0;

  void fill(random_numbers& draw) {
    require(!bytes || memory, "no memory for a small request");
    require(tried::usable_bytes(memory) >= bytes, "a block is smaller than what was asked for");
    value = static_cast<unsigned char>(draw());
    for_some(bytes, [&](std::size_t k) { memory[k] = value; });
  }
  void expect(std::size_t first_bytes, unsigned char expected, const char* what) const {
    for_some(first_bytes, [&](std::size_t k) { require(memory[k] == expected, what); });
  }
};

std::size_t any_size(random_numbers& draw) {
  const unsigned kind = draw() % 1000;
  if (kind < 900) return 1 + draw() % 600;
  if (kind < 990) return 1 + draw() % 70'000;
  return 1 + (kind < 999 ? draw() % 2'500'000 : draw() % 6'000'000);
}

void give(block& one) {
  one.expect(one.bytes, one.value, "a block does not hold what was written to it");
  tried::give(one.memory);
  one = {};
}

void resize(random_numbers& draw, block& one) {
  const std::size_t bytes = any_size(draw);
  one.memory = static_cast<unsigned char*>(tried::resize(one.memory, bytes));
  require(one.memory, "no memory for a small request");
  // Of larger ones other bytes than these may not have been written.
  for (std::size_t k = 0; k < std::min({bytes, one.bytes, std::size_t{256}}); ++k)
    require(one.memory[k] == one.value, "a resized block does not hold what was written to it");
  one.bytes = bytes;
  one.fill(draw);
}

void step(random_numbers& draw, block& one) {
  const unsigned kind = draw() % 6;
  if (kind == 0 && one.memory) return resize(draw, one);
  give(one);
  if (kind == 1) return;
  one.bytes = any_size(draw);
  if (kind == 2) {
    const std::size_t alignment = std::size_t{1} << draw() % 19;
    one.memory = static_cast<unsigned char*>(tried::take_aligned(one.bytes, alignment));
    require(reinterpret_cast<std::uintptr_t>(one.memory) % alignment == 0, "a block is not aligned as asked");
  } else if (kind == 3) {
    one.memory = static_cast<unsigned char*>(tried::take_zeroed(one.bytes));
    for (std::size_t k = 0; k < one.bytes; ++k) require(one.memory[k] == 0, "a zeroed block is not zero");
  } else {
    one.memory = static_cast<unsigned char*>(tried::take(one.bytes));
  }
  one.fill(draw);
}

/// Where threads meet: each block is used by one at a time, and by any.
struct place {
  std::mutex mutex;
  block shared;
};
std::array<place, 256> places;
std::atomic<long> steps{0};

/// A child has what the thread that forked it holds, and threads of its own.
void fork_child(random_numbers& draw, std::vector<block>& mine) {
  const auto seed = static_cast<unsigned>(draw());
  const pid_t child = fork();
  require(child >= 0, "no fork");
  if (child == 0) {
    alarm(600);
    random_numbers own(seed);
    std::thread([&] {
      for (int k = 0; k < 200; ++k) step(own, mine[own() % mine.size()]);
    }).join();
    for (block& one : mine) give(one);
    _exit(7);
  }
  int status = 0;
  require(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7,
          "a child of fork() failed");
}

void life_of_a_thread(unsigned seed) {
  random_numbers draw(seed);
  std::vector<block> mine(64);
  const int length = 2000 + static_cast<int>(draw() % 6000);
  for (int k = 0; k < length; ++k) {
    step(draw, mine[draw() % mine.size()]);
    place& met = places[draw() % places.size()];
    const std::lock_guard hold(met.mutex);
    std::swap(met.shared, mine[draw() % mine.size()]);
  }
  if (draw() % 16 == 0) tried::trim();
  if (forks && draw() % 4 == 0) fork_child(draw, mine);
  for (block& one : mine)
    if (draw() % 2) give(one);
  for (block& one : mine) {  // half of the blocks outlive their thread
    if (!one.memory) continue;
    place& met = places[draw() % places.size()];
    const std::lock_guard hold(met.mutex);
    give(met.shared);
    met.shared = one;
  }
  steps += length;
}

/// A thread that asks for nothing.
void return_some() {
  for (place& met : places) {
    const std::lock_guard hold(met.mutex);
    if (met.shared.value % 4 == 0) give(met.shared);
  }
}

void drive(unsigned seed, std::chrono::steady_clock::time_point end) {
  random_numbers draw(seed);
  do {
    std::thread(life_of_a_thread, static_cast<unsigned>(draw())).join();
    std::thread(return_some).join();
  } while (std::chrono::steady_clock::now() < end);
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 10;
  const unsigned seed = argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : std::random_device{}();
  std::fprintf(stderr, "malloc_fuzz: seed %u\n", seed);
  const auto end =
      std::chrono::steady_clock::now() +
      std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(seconds));
  tried::begin();
  std::vector<std::thread> drivers;
  for (unsigned k = 1; k <= 4; ++k) drivers.emplace_back(drive, seed + k, end);
  for (std::thread& one : drivers) one.join();
  for (place& one : places) give(one.shared);
  tried::trim();
  std::fprintf(stderr, "malloc_fuzz: %ld steps\n", steps.load());
}
