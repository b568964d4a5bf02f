// SPDX-License-Identifier: Apache-2.0
// What an allocator costs: a pair of allocate and return, and a return by another thread. An allocator is a
// type with static `void* get(std::size_t)` and `void put(void*)`.
#pragma once

#include <time.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "corescale/machine/cache_line.hpp"
#include "corescale/machine/clock.hpp"
#include "corescale/machine/cpu_pause.hpp"

namespace allocate {

inline constexpr std::size_t pair_bytes = 200;
inline constexpr std::size_t cross_bytes = 192;

/// ns that this thread was given a core: where nobody waits, its time without that of other programs on the machine.
inline std::int64_t own_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

/// A number that the compiler cannot know, so that no allocator is computed away.
inline std::size_t opaque(std::size_t n) {
  asm volatile("" : "+r"(n));
  return n;
}

inline void use(void* memory) { asm volatile("" : : "r"(memory) : "memory"); }

/// The size is news in each round, as where a program computes it.
struct size_from_memory {
  template <class Allocator>
  static void pairs(long count) {
    for (long k = 0; k < count; ++k) {
      void* const memory = Allocator::get(opaque(pair_bytes));
      use(memory);
      Allocator::put(memory);
    }
  }
};

/// The size stays in a register, and nothing is known of memory after a return.
struct size_in_register {
  template <class Allocator>
  static void pairs(long count) {
    const std::size_t bytes = opaque(pair_bytes);
    for (long k = 0; k < count; ++k) {
      void* const memory = Allocator::get(bytes);
      use(memory);
      Allocator::put(memory);
      asm volatile("" ::: "memory");
    }
  }
};

/// A hundred blocks, then their return: the lists behind the newest block.
struct hundred_at_once {
  template <class Allocator>
  static void pairs(long count) {
    std::array<void*, 100> all{};
    for (long k = 0; k < count; k += static_cast<long>(all.size())) {
      for (void*& memory : all) use(memory = Allocator::get(opaque(pair_bytes)));
      for (void* memory : all) Allocator::put(memory);
    }
  }
};

/// Up to a thousand blocks of changing sizes, in no order: a get or a return where none or one stands at a random place.
struct random_sizes {
  template <class Allocator>
  static void pairs(long count) {
    std::array<void*, 1024> all{};
    std::uint64_t state = 2012;
    for (long k = 0; k < 2 * count; ++k) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      void*& memory = all[state >> 54];
      if (memory) Allocator::put(memory);
      memory = memory ? nullptr : Allocator::get(16 + (state >> 40) % 500);
    }
    for (void* memory : all)
      if (memory) Allocator::put(memory);
  }
};

/// ns per pair, on each of num_threads threads at once; the mean over them.
template <class Allocator, class Loop>
double pair_ns(int num_threads, long count) {
  std::atomic<int> ready{0};
  std::atomic<std::int64_t> sum{0};
  const auto run = [&] {
    Loop::template pairs<Allocator>(count / 10);
    ++ready;
    while (ready.load() < num_threads) corescale::cpu_pause();
    const std::int64_t start = own_ns();
    Loop::template pairs<Allocator>(count);
    sum += own_ns() - start;
  };
  std::vector<std::thread> others;
  for (int t = 1; t < num_threads; ++t) others.emplace_back(run);
  run();
  for (std::thread& other : others) other.join();
  return static_cast<double>(sum) / (static_cast<double>(count) * num_threads);
}

/// One thread puts objects in, one takes them out. Each tells the other every 64 objects only, so that the
/// hand-off itself costs little.
class channel {
 public:
  static constexpr std::size_t size = 2048;
  static constexpr std::size_t step = 64;

  void put(void* object) {
    if (put_ % step == 0) {
      told_put_.store(put_, std::memory_order_release);
      while (put_ + step - told_taken_.load(std::memory_order_acquire) > size) corescale::cpu_pause();
    }
    slots_[put_++ % size] = object;
  }

  void close() { told_put_.store(put_, std::memory_order_release); }

  void* take() {
    if (taken_ % step == 0) told_taken_.store(taken_, std::memory_order_release);
    while (taken_ == known_put_) {
      known_put_ = told_put_.load(std::memory_order_acquire);
      if (taken_ == known_put_) corescale::cpu_pause();
    }
    return slots_[taken_++ % size];
  }

 private:
  alignas(corescale::cache_line) std::size_t put_ = 0;
  alignas(corescale::cache_line) std::atomic<std::size_t> told_put_{0};
  alignas(corescale::cache_line) std::size_t taken_ = 0;
  std::size_t known_put_ = 0;
  alignas(corescale::cache_line) std::atomic<std::size_t> told_taken_{0};
  alignas(corescale::cache_line) std::array<void*, size> slots_{};
};

/// ns per object that one thread allocates and writes, and another one reads and returns, in a steady stream.
template <class Allocator>
double cross_ns(long count) {
  channel objects;
  std::atomic<bool> go{false};
  const long warm = count / 10;
  std::thread consumer([&] {
    std::uint64_t sum = 0;
    for (long k = 0; k < warm + count; ++k) {
      void* const object = objects.take();
      sum += *static_cast<std::uint64_t*>(object);
      Allocator::put(object);
    }
    use(&sum);
  });
  std::int64_t start = 0;
  for (long k = 0; k < warm + count; ++k) {
    if (k == warm) start = corescale::now_ns();
    auto* const object = static_cast<std::uint64_t*>(Allocator::get(opaque(cross_bytes)));
    *object = static_cast<std::uint64_t>(k);
    objects.put(object);
  }
  objects.close();
  consumer.join();
  return static_cast<double>(corescale::now_ns() - start) / static_cast<double>(count);
}

/// The limit of cross_ns: objects that are there already go round, nothing is allocated.
struct no_allocator {
  static void* get(std::size_t) {
    static std::vector<std::array<std::uint64_t, 32>> objects(2 * channel::size);
    static std::size_t next = 0;
    return objects[next++ % objects.size()].data();
  }
  static void put(void*) {}
};

}  // namespace allocate
