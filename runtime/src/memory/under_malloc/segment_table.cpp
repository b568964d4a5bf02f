// SPDX-License-Identifier: Apache-2.0
#include "segment_table.hpp"

#include "system.hpp"

namespace corescale::inline v0::process_heap {

constinit segment_bits no_bits{};
constinit std::array<segment_bits*, std::size_t{1} << 9> segments_here = [] {
  std::array<segment_bits*, std::size_t{1} << 9> none{};
  none.fill(&no_bits);
  return none;
}();

bool can_mark(const void* place) noexcept {
  segment_bits*& at = bits_of(place);
  segment_bits* none = &no_bits;
  if (__atomic_load_n(&at, __ATOMIC_RELAXED) != none) return true;
  auto* const room = static_cast<segment_bits*>(map(sizeof(segment_bits)));
  if (!room) return false;
  if (!__atomic_compare_exchange_n(&at, &none, room, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
    unmap(room, sizeof(segment_bits));
  return true;
}

void mark(const void* segment, bool here) noexcept {
  const std::uintptr_t number = reinterpret_cast<std::uintptr_t>(segment) / segment_bytes;
  const std::uint64_t bit = std::uint64_t{1} << number % 64;
  std::uint64_t& word = (*__atomic_load_n(&bits_of(segment), __ATOMIC_ACQUIRE))[number / 64 % words_of_bits];
  __atomic_store_n(&word, here ? word | bit : word & ~bit, __ATOMIC_RELAXED);
}

}  // namespace corescale::process_heap
