// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "sizes.hpp"

/// Which addresses are in a segment: asked at each free(), so by two loads and one branch.
namespace corescale::inline v0::process_heap {

/// A bit for each segment of 512 GiB of address space. They are plain words that are read and written atomically, because the kernel gives
/// them as zeros.
inline constexpr std::size_t words_of_bits = std::size_t{1} << 11;
using segment_bits = std::array<std::uint64_t, words_of_bits>;
/// The bits of each 512 GiB below 2^48. Until a segment is there, the entry points to no_bits, which are all 0, so that a look-up has one
/// branch. No program has memory above 2^48; of such an address only the lower 48 bits count.
extern constinit segment_bits no_bits;
extern constinit std::array<segment_bits*, std::size_t{1} << 9> segments_here;

inline segment_bits*& bits_of(const void* memory) noexcept {
  return segments_here[reinterpret_cast<std::uintptr_t>(memory) / segment_bytes / 64 / words_of_bits %
                       segments_here.size()];
}

inline bool is_in_segment(const void* memory) noexcept {
  const std::uintptr_t number = reinterpret_cast<std::uintptr_t>(memory) / segment_bytes;
  const segment_bits& bits = *__atomic_load_n(&bits_of(memory), __ATOMIC_ACQUIRE);
  return (__atomic_load_n(&bits[number / 64 % words_of_bits], __ATOMIC_RELAXED) >> number % 64 & 1) != 0;
}

/// Makes room for the bit of a segment. False if there is no memory. Needs no lock: if two threads make the same room, one of them wins.
bool can_mark(const void* segment) noexcept;

/// Sets or clears the bit of a segment that can_mark() made room for. Only one thread at a time may call it.
void mark(const void* segment, bool here) noexcept;

}  // namespace corescale::process_heap
