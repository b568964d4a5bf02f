// SPDX-License-Identifier: Apache-2.0
#include "system_memory.hpp"

#include <array>
#include <cstdlib>
#include <cstring>
#include <new>

namespace corescale::inline v0::detail {
namespace {

constexpr std::array<char, guard_bytes> guard{'\xC0', '\x5E', '\xED', '\x0F', '\xA5', '\x5A', '\x3C', '\x96'};

/// What malloc() may leave undone of the alignment.
constexpr std::size_t slack = block_alignment - alignof(std::max_align_t);

}  // namespace

block* block_from_system(std::size_t capacity_index, std::uint32_t salt) noexcept {
  void* const given = std::malloc(slack + sizeof(block) + capacity_at(capacity_index) + guard_bytes);
  if (!given) return nullptr;
  const std::size_t lead = -reinterpret_cast<std::uintptr_t>(given) % block_alignment;
  block* const b = new (static_cast<char*>(given) + lead) block{};
  b->capacity_index = static_cast<std::uint16_t>(capacity_index);
  b->lead = static_cast<std::uint16_t>(lead);
  b->seal = seal_at(b, salt);
  forbid(guard_of(b), guard_bytes);
  return b;
}

void block_to_system(block* b) noexcept {
  permit(b->memory(), b->capacity() + guard_bytes);
  b->seal = 0;
  asm volatile("" : : "r"(b) : "memory");  // or the store is dropped, as free() follows
  std::free(reinterpret_cast<char*>(b) - b->lead);
}

CORESCALE_NO_ADDRESS_CHECK block peek(const block* b) noexcept {
  const volatile block* const any = b;
  return {nullptr, 0, any->stamp, any->seal, 0, 0};
}

#ifdef CORESCALE_ADDRESS_SANITIZER
// It watches the guard itself, and better: at the write.
void write_guard(block*) noexcept {}
bool guard_is_whole(block*) noexcept { return true; }
#else
void write_guard(block* b) noexcept { std::memcpy(guard_of(b), guard.data(), guard.size()); }
bool guard_is_whole(block* b) noexcept { return std::memcmp(guard_of(b), guard.data(), guard.size()) == 0; }
#endif

void* shift(block& b, std::size_t alignment, std::size_t& capacity) noexcept {
  const auto start = reinterpret_cast<std::uintptr_t>(b.memory());
  std::uintptr_t aligned = (start + alignment - 1) & ~(alignment - 1);
  if (aligned != start && aligned < start + sizeof(block)) aligned += alignment;
  capacity = start + b.capacity() - aligned;
  void* const memory = reinterpret_cast<void*>(aligned);
  if (aligned != start) {
    block* const stand_in = new (block_of(memory)) block(b);
    stand_in->stamp = reinterpret_cast<std::uintptr_t>(&b) | shifted;
    stand_in->seal = b.seal ^ seal_at(&b, 0) ^ seal_at(stand_in, 0);
  }
  return memory;
}

}  // namespace corescale::detail
