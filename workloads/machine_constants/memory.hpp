// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <numeric>
#include <vector>

#include "driver/random.hpp"
#include "machine_constants/lines.hpp"

namespace machine_constants {

/// Nanoseconds of a load whose address is the result of the one before, over `bytes` of lines in a random cycle.
inline Quantity chase(std::size_t bytes) {
  struct alignas(corescale::cache_line) Node {
    const Node* next;
  };
  std::vector<Node> nodes(std::max<std::size_t>(bytes / sizeof(Node), 2));
  std::vector<std::uint32_t> order(nodes.size());
  std::iota(order.begin(), order.end(), 0U);
  driver::Random draw(1, 0, 0);
  for (std::size_t i = order.size() - 1; i > 0; --i) std::swap(order[i], order[draw.bits() % (i + 1)]);
  for (std::size_t i = 0; i < order.size(); ++i) nodes[order[i]].next = &nodes[order[(i + 1) % order.size()]];
  const Node* at = nodes.data();
  const auto steps = static_cast<std::uint64_t>(std::min<std::size_t>(nodes.size(), 200'000));
  const auto walk = [&](std::uint64_t times) {
    for (std::uint64_t k = 0; k < times; ++k) at = at->next;
    asm volatile("" : : "r"(at));
  };
  if (nodes.size() <= 1 << 20) walk(nodes.size());
  std::vector<double> seen(5);
  for (double& one : seen) one = ns_of_each(steps, [&] { walk(steps); });
  return typical(seen);
}

/// Nanoseconds of an operation that waits for the one before: a cycle. Newer cores do several additions of constants in
/// one, but not several rotations.
inline double cycle_ns() {
  std::vector<double> seen(9);
  for (double& one : seen)
    one = ns_of_each(1'000'000, [] {
      std::uint64_t word = 1;
#pragma GCC unroll 16
      for (int k = 0; k < 1'000'000; ++k) {
        word = std::rotl(word, 3);
        asm volatile("" : "+r"(word));
      }
    });
  return *std::ranges::min_element(seen);
}

/// Bytes per nanosecond that one core reads from memory.
inline Quantity bandwidth(std::size_t bytes) {
  std::vector<std::uint64_t> words(bytes / sizeof(std::uint64_t), 1);
  std::vector<double> seen(5);
  for (double& one : seen)
    one = ns_of_each(bytes, [&] {
      std::uint64_t sum = 0;
      for (const std::uint64_t word : words) sum += word;
      asm volatile("" : : "r"(sum));
    });
  const Quantity byte_ns = typical(seen);
  return {1 / byte_ns.value, byte_ns.spread};
}

}  // namespace machine_constants
