// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>

namespace unit_task {

/// The study's R, W and C.
struct Task {
  std::uint64_t bytes_read = 1024;
  std::uint64_t bytes_written = 1024;
  std::uint64_t operations = 1024;
};

/// How C operations are made.
enum class Compute {
  published,  ///< the printed inner loop: C / R additions for each byte, which g++ -O2 folds into one
  real,       ///< C additions in all, one after the other, which no compiler folds; a cycle each
};

/// `times` additions of 1.
template <Compute how>
std::uint8_t added(std::uint8_t integer, std::uint64_t times) {
  for (std::uint64_t j = 0; j < times; ++j) {
    ++integer;
    if constexpr (how == Compute::real) asm volatile("" : "+r"(integer));
  }
  return integer;
}

/// Memory of one thread at a time.
struct OwnMemory {
  static std::uint8_t load(const std::uint8_t* at) { return *at; }
  static void store(std::uint8_t* at, std::uint8_t byte) { *at = byte; }
};

/// Memory that all threads write at once: the same instructions, but no race to the language.
struct SharedMemory {
  static std::uint8_t load(const std::uint8_t* at) { return *at; }
  static void store(std::uint8_t* at, std::uint8_t byte) {
    std::atomic_ref(*at).store(byte, std::memory_order_relaxed);
  }
};

/// The unit task of Shuai (2021, "Test and statistics"). It computes with each byte that is read, and writes the result. If more is to be
/// written, the last result is repeated. `published` divides by R, which must not be 0 there.
template <Compute how, class Memory>
[[gnu::noinline]] void run_task(const Task& task, const std::uint8_t* read_at, std::uint8_t* write_at) {
  const std::uint64_t parts =
      how == Compute::real ? std::max<std::uint64_t>(task.bytes_read, 1) : task.bytes_read;
  const std::uint64_t each = task.operations / parts;
  const std::uint64_t one_more = how == Compute::real ? task.operations % parts : 0;
  std::uint64_t written = 0;
  std::uint8_t integer = 0;
  if (task.bytes_read == 0) integer = added<how>(integer, each);
  for (std::uint64_t i = 0; i < task.bytes_read; ++i) {
    integer = added<how>(Memory::load(read_at + i), each + (i < one_more ? 1 : 0));
    if (written < task.bytes_written) Memory::store(write_at + written++, integer);
  }
  while (written < task.bytes_written) Memory::store(write_at + written++, integer);
}

/// Nanoseconds of one operation; 0 if the compiler folded them, so that 2^40 take less than 50 us.
template <Compute how>
double ns_per_operation() {
  using clock = std::chrono::steady_clock;
  constexpr double long_enough_ns = 50'000;
  for (std::uint64_t operations = 1 << 10; operations <= std::uint64_t{1} << 40; operations *= 2) {
    double least = std::numeric_limits<double>::max();
    for (int probe = 0; probe < 3; ++probe) {
      std::uint8_t byte = 0, written = 0;
      const auto start = clock::now();
      run_task<how, OwnMemory>({1, 1, operations}, &byte, &written);
      least = std::min(least, std::chrono::duration<double, std::nano>(clock::now() - start).count());
    }
    if (least > long_enough_ns) return least / static_cast<double>(operations);
  }
  return 0;
}

}  // namespace unit_task
