// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "digital_evolution/heap.hpp"
#include "driver/random.hpp"

namespace digital_evolution {

using driver::Random;

/// A function has from `least` to `most` instructions, a genome as many functions.
inline constexpr int least = 4, most = 12;

/// w: working registers; in: the arguments of the event or the call; out: the results. See Processor.
enum class Operation : std::uint8_t {
  nothing,
  constant,   ///< w[a] = a number from -8 to 8
  load,       ///< w[a] = in[b]
  emit,       ///< out[a] = w[b]
  add,        ///< w[a] = w[b] + w[c]
  subtract,   ///< w[a] = w[b] - w[c]
  multiply,   ///< w[a] = w[b] * w[c]
  smaller,    ///< w[a] = min(w[b], w[c])
  larger,     ///< w[a] = max(w[b], w[c])
  skip,       ///< skips the next c instructions if w[a] < w[b]
  call,       ///< calls the function with the nearest tag: its in is our w, and its out is added to our w
  leave,      ///< ends the function
  send,       ///< out goes to the neighbour in direction a; costs 1
  share,      ///< an eighth of the cell's resource goes to the neighbour in direction a
  sense,      ///< w[a] = the cell's resource
  increment,  ///< w[a] = w[a] + 1
  count
};

struct Instruction {
  Operation operation;
  std::uint8_t a, b, c;  ///< 0 to 7
  std::uint32_t tag;
};

template <class Heap>
struct Function {
  std::uint32_t tag = 0;
  Vector<Instruction, Heap> instructions;
};

template <class Heap>
using Genome = Vector<Function<Heap>, Heap>;

inline Instruction random_instruction(Random& random) {
  const std::uint64_t bits = random.bits();
  const auto three = [bits](int shift) { return static_cast<std::uint8_t>((bits >> shift) & 3); };
  return {static_cast<Operation>(random.below(static_cast<int>(Operation::count))), three(0), three(3),
          three(6), static_cast<std::uint32_t>(bits >> 32)};
}

inline std::size_t random_length(Random& random) {
  const int length = least + random.below(most - least + 1);
  return static_cast<std::size_t>(length);
}

template <class Heap>
Genome<Heap> random_genome(Random& random) {
  Genome<Heap> genome(random_length(random));
  for (Function<Heap>& function : genome) {
    function.tag = static_cast<std::uint32_t>(random.bits());
    function.instructions.resize(random_length(random));
    for (Instruction& instruction : function.instructions) instruction = random_instruction(random);
  }
  return genome;
}

/// Copies or deletes one element, within the bounds.
template <class Elements>
void resize_by_one(Elements& elements, Random& random) {
  const auto at = elements.begin() + random.below(static_cast<int>(elements.size()));
  const bool grow = random.below(2) == 0;
  if (grow && elements.size() < most) elements.insert(at, typename Elements::value_type(*at));
  if (!grow && elements.size() > least) elements.erase(at);
}

/// Probabilities: an instruction changes with 1/32, and a bit of a function's tag flips with 1/16. A function
/// grows or shrinks by one instruction with 1/32, and a genome by one function with 1/16.
template <class Heap>
void mutate(Genome<Heap>& genome, Random& random) {
  for (Function<Heap>& function : genome) {
    if (random.below(16) == 0) function.tag ^= std::uint32_t{1} << random.below(32);
    for (Instruction& instruction : function.instructions)
      if (random.below(32) == 0) instruction = random_instruction(random);
    if (random.below(32) == 0) resize_by_one(function.instructions, random);
  }
  if (random.below(16) == 0) resize_by_one(genome, random);
}

/// The function whose tag differs from `tag` in the fewest bits, the first of equals.
template <class Heap>
const Function<Heap>& nearest(const Genome<Heap>& genome, std::uint32_t tag) {
  const auto distance = [tag](const Function<Heap>& function) { return std::popcount(function.tag ^ tag); };
  return *std::min_element(genome.begin(), genome.end(),
                           [&](const auto& a, const auto& b) { return distance(a) < distance(b); });
}

}  // namespace digital_evolution
