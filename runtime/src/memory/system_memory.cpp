// SPDX-License-Identifier: Apache-2.0
#include "system_memory.hpp"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>

// Functions of AddressSanitizer's interface; null if it is not in the process.
// NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" {
void __asan_poison_memory_region(const volatile void* start, std::size_t bytes) __attribute__((weak));
void __asan_unpoison_memory_region(const volatile void* start, std::size_t bytes) __attribute__((weak));
}
// NOLINTEND(bugprone-reserved-identifier)

namespace corescale::inline v0::detail {
namespace {

constexpr std::array<char, guard_bytes> guard{'\xC0', '\x5E', '\xED', '\x0F', '\xA5', '\x5A', '\x3C', '\x96'};

/// Memory starts 32 bytes after a multiple of this.
constexpr std::size_t period = 64;
constexpr std::size_t smallest_page = 4096;

/// The most bytes between the start of what malloc() gives and the block.
constexpr std::size_t slack = period - alignof(std::max_align_t);

/// Asks the kernel, which reads the mask at `memory` before it rejects the first argument.
bool is_readable(const void* memory) noexcept {
  const int kept = errno;
  const bool readable =
      syscall(SYS_rt_sigprocmask, ~0, memory, nullptr, sizeof(std::uint64_t)) == 0 || errno != EFAULT;
  errno = kept;
  return readable;
}

CORESCALE_NO_ADDRESS_CHECK __attribute__((noinline)) block read_anything(const block* b) noexcept {
  const volatile block* const any = b;
  return {any->stamp, any->seal, any->size_class, 0};
}

}  // namespace

block* block_from_system(std::size_t size_class) noexcept {
  void* const given = std::malloc(slack + sizeof(block) + class_capacity(size_class) + guard_bytes);
  if (!given) return nullptr;
  const std::size_t lead =
      (block_alignment - sizeof(block) - reinterpret_cast<std::uintptr_t>(given)) % period;
  void* const at = static_cast<char*>(given) + lead;
  block* const b = new (at) block{0, seal_at(static_cast<block*>(at)), static_cast<std::uint16_t>(size_class),
                                  static_cast<std::uint16_t>(lead / small_alignment)};
  forbid(guard_of(b), guard_bytes);
  return b;
}

void block_to_system(block* b) noexcept {
  permit(b->memory(), b->capacity() + guard_bytes);
  b->seal = 0;
  asm volatile("" : : "r"(b) : "memory");  // otherwise the compiler drops the store, as free() follows
  std::free(reinterpret_cast<char*>(b) - b->lead * small_alignment);
}

block peek(const block* b) noexcept {
  // Only a foreign pointer to the start of a page may have no memory before it.
  const bool ends_a_page = reinterpret_cast<std::uintptr_t>(b + 1) % smallest_page == 0;
  return ends_a_page && !is_readable(b) ? block{} : read_anything(b);
}

bool address_sanitizer_watches() noexcept { return &__asan_poison_memory_region != nullptr; }

void forbid(void* memory, std::size_t bytes) noexcept {
  if (address_sanitizer_watches()) __asan_poison_memory_region(memory, bytes);
}

void permit(const void* memory, std::size_t bytes) noexcept {
  if (address_sanitizer_watches()) __asan_unpoison_memory_region(memory, bytes);
}

// AddressSanitizer watches the guard itself, and better: at the write.
void write_guard(block* b) noexcept {
  if (!address_sanitizer_watches()) std::memcpy(guard_of(b), guard.data(), guard.size());
}

bool guard_is_whole(const block* b) noexcept {
  const char* const end = static_cast<const char*>(b->memory()) + b->capacity();
  return address_sanitizer_watches() || std::memcmp(end, guard.data(), guard.size()) == 0;
}

void* shift(block& b, std::size_t alignment, std::size_t& capacity) noexcept {
  const auto start = reinterpret_cast<std::uintptr_t>(b.memory());
  const std::uintptr_t aligned =
      (start + alignment - 1) & ~(alignment - 1);  // 32 bytes on at least, as period > 32
  capacity = start + b.capacity() - aligned;
  void* const memory = reinterpret_cast<void*>(aligned);
  block* const stand_in = new (block_of(memory)) block(b);
  stand_in->stamp = reinterpret_cast<std::uintptr_t>(&b) | shifted;
  stand_in->seal = seal_at(stand_in);
  return memory;
}

}  // namespace corescale::detail
