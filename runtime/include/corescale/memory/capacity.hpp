// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

/// The capacities of Bell and Hepperger 2012, section VI: c(0) = 128, c(i+1) = 3 floor((c(i) + 1) / 2), bytes.
namespace corescale::inline v0 {

namespace detail {

inline constexpr std::size_t largest_size = std::numeric_limits<std::size_t>::max();

constexpr std::size_t next_capacity(std::size_t c) { return 3 * ((c + 1) / 2); }

constexpr std::size_t count_capacities() {
  std::size_t count = 1;
  for (std::size_t c = 128; c <= largest_size / 4; c = next_capacity(c)) ++count;
  return count;
}

}  // namespace detail

/// The number of capacities, which reach up to 3/8 of the address space.
inline constexpr std::size_t num_capacities = detail::count_capacities();

namespace detail {

/// All capacities, and after them a size that no request exceeds, so that a lookup needs no test for the end.
inline constexpr auto capacities = [] {
  std::array<std::size_t, num_capacities + 1> table{};
  table[0] = 128;
  for (std::size_t i = 1; i < num_capacities; ++i) table[i] = next_capacity(table[i - 1]);
  table[num_capacities] = largest_size;
  return table;
}();

/// The position of the highest set bit. An exclusive or and not a difference, because compilers turn it into
/// one bsr.
constexpr std::size_t highest_bit(std::size_t bits) noexcept {
  return static_cast<std::size_t>(std::countl_zero(bits)) ^ (std::numeric_limits<std::size_t>::digits - 1);
}

/// first_in_half_octave[2 k + h] is the least i with c(i) >= (2 + h) 2^(k-1), the start of a half octave.
/// Capacities grow by half at least, so a half octave starts at most one of them.
inline constexpr auto first_in_half_octave = [] {
  std::array<std::uint8_t, 2 * std::numeric_limits<std::size_t>::digits> table{};
  for (std::size_t slot = 2; slot < table.size(); ++slot) {
    const std::size_t start = (2 + slot % 2) << (slot / 2 - 1);
    while (table[slot] < num_capacities && capacities[table[slot]] < start) ++table[slot];
  }
  return table;
}();

}  // namespace detail

/// The least i with min_bytes <= c(i); num_capacities when there is none.
/// Constant time: a bit scan and two table look-ups.
constexpr std::size_t capacity_index(std::size_t min_bytes) noexcept {
  const std::size_t bits = min_bytes | 2;
  const std::size_t k = detail::highest_bit(bits);
  const std::size_t i = detail::first_in_half_octave[2 * k - 2 + (bits >> (k - 1))];
  return i + (detail::capacities[i] < min_bytes);
}

/// c(i), bytes, for i < num_capacities.
constexpr std::size_t capacity_at(std::size_t i) noexcept { return detail::capacities[i]; }

}  // namespace corescale
