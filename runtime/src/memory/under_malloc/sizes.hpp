// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

/// The sizes of blocks below malloc(): steps of 16 bytes up to 128, then eight to a doubling. So a block is at most an eighth larger than
/// the request, and up to 128 bytes at most 15 bytes larger.
namespace corescale::inline v0::process_heap {

inline constexpr std::size_t slice = std::size_t{1} << 16;  ///< bytes; pages and runs consist of slices
inline constexpr std::size_t segment_bytes = std::size_t{1} << 22;  ///< 64 slices, aligned to this size
inline constexpr std::size_t largest_block = slice;     ///< the largest block that has a size class
inline constexpr std::size_t largest_run = 31 * slice;  ///< larger blocks get a mapping of their own
inline constexpr std::size_t system_page = 4096;
/// Bytes. A request for as many or more is refused at once.
inline constexpr std::size_t address_space = std::size_t{1} << 48;

inline constexpr std::size_t num_classes = 80;

constexpr std::size_t class_size(std::size_t c) noexcept {
  if (c < 8) return 16 * (c + 1);
  const std::size_t doubling = 7 + (c - 8) / 8, step = (c - 8) % 8 + 1;
  return (std::size_t{1} << doubling) + (step << (doubling - 3));
}

inline constexpr std::size_t table_bytes = 1024;

/// For sizes above 128.
constexpr std::size_t computed_class(std::size_t bytes) noexcept {
  const std::size_t doubling = static_cast<std::size_t>(std::bit_width(bytes - 1)) - 1;
  return 8 * (doubling - 7) + ((bytes - 1) >> (doubling - 3));
}

/// The class of a size. The size is rounded up to steps of 16 bytes.
inline constexpr auto class_of_step = [] {
  std::array<std::uint8_t, table_bytes / 16 + 1> table{};
  for (std::size_t step = 1; step < table.size(); ++step)
    table[step] = static_cast<std::uint8_t>(step <= 8 ? step - 1 : computed_class(16 * step));
  return table;
}();

/// The least class that holds `bytes`, which are largest_block at most.
constexpr std::size_t class_of(std::size_t bytes) noexcept {
  if (bytes <= table_bytes) [[likely]]
    return class_of_step[(bytes + 15) / 16];
  return computed_class(bytes);
}

/// Slices of a page of that class: eight blocks at least.
constexpr unsigned slices_of_class(std::size_t c) noexcept {
  const std::size_t size = class_size(c);
  return size <= slice / 8 ? 1 : size <= slice / 2 ? 4 : 8;
}

constexpr std::size_t round_up(std::size_t bytes, std::size_t multiple) noexcept {
  return (bytes + multiple - 1) & ~(multiple - 1);
}

}  // namespace corescale::process_heap
