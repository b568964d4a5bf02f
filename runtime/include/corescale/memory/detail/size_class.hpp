// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "corescale/memory/capacity.hpp"

// The sizes of blocks: the study's capacities, and below them a few for a program's many small objects.
namespace corescale::inline v0::detail {

/// The sizes of the small classes. A small block also has 16 bytes before it, and 8 after it that show an overrun. So it takes 48, 80 or
/// 112 bytes, the memory is at multiples of 16, and no byte is lost. 24 bytes hold a list node of an int or a pointer.
inline constexpr std::array<std::size_t, 3> small_capacities{24, 56, 88};
inline constexpr std::size_t num_small = small_capacities.size();

/// All classes: the small ones, then the study's. num_classes is the class of sizes that no class holds.
inline constexpr std::size_t num_classes = num_small + num_capacities;

inline constexpr auto class_capacities = [] {
  std::array<std::size_t, num_classes + 1> table{};
  for (std::size_t c = 0; c < num_small; ++c) table[c] = small_capacities[c];
  for (std::size_t i = 0; i <= num_capacities; ++i) table[num_small + i] = capacities[i];
  return table;
}();

constexpr std::size_t class_capacity(std::size_t c) noexcept { return class_capacities[c]; }

/// Whether blocks of the class are kept when they are returned. Larger ones go back to the system at once, as in glibc's malloc() above 32
/// MiB. Page faults of such memory cost no more than its use, and while an array grows, its previous block would be kept.
constexpr bool is_kept(std::size_t c) noexcept { return class_capacity(c) < std::size_t{32} << 20; }

/// Up to this many bytes the class is looked up in one step.
inline constexpr std::size_t table_bytes = 1024;

/// For sizes in steps of 8 bytes, rounded up: the least class that holds them.
inline constexpr auto class_of_step = [] {
  std::array<std::uint8_t, table_bytes / 8 + 1> table{};
  for (std::size_t step = 0; step < table.size(); ++step) {
    while (class_capacities[table[step]] < 8 * step) ++table[step];
  }
  return table;
}();

/// The least class that holds `bytes`.
constexpr std::size_t size_class(std::size_t bytes) noexcept {
  if (bytes <= table_bytes) [[likely]]
    return class_of_step[(bytes + 7) / 8];
  return num_small + capacity_index(bytes);
}

}  // namespace corescale::detail
