// SPDX-License-Identifier: Apache-2.0
#include "mappings.hpp"

#include <string.h>
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <utility>

#include "sizes.hpp"

namespace corescale::inline v0::process_heap {

constinit lock mapping_lock;

namespace {

struct mapping {
  char* memory;
  std::size_t bytes;
  std::uint32_t guard_size = 0;  ///< bytes after these for a guard, if hardened
  guard guarded = guard::none;
};

struct kept_mapping : mapping {
  std::uint64_t since;
};

// All of these are guarded by mapping_lock. The table uses open addressing, and is at most half full.
constinit mapping* places = nullptr;
constinit std::size_t room = 0;
constinit mapping_counts counts{};
constinit std::array<kept_mapping, 16> kept{};  // oldest first
constinit std::size_t num_kept = 0;
constinit std::atomic<std::uint64_t> oldest_since{0};  // the time since which kept[0] is kept; 0 for none

std::size_t home_of(const void* memory) noexcept {
  return static_cast<std::size_t>(
             (reinterpret_cast<std::uintptr_t>(memory) / system_page) * 0x9e3779b97f4a7c15 >> 20) &
         (room - 1);
}

/// Index of the entry for `memory`, or of a free entry if there is none.
std::size_t find(const void* memory) noexcept {
  std::size_t k = home_of(memory);
  while (places[k].memory && places[k].memory != memory) k = (k + 1) & (room - 1);
  return k;
}

/// Call with the lock held. It is released while the kernel works.
void drop(mapping one) noexcept {
  mapping_lock.leave();
  unprotect(one.memory + one.bytes, one.guarded);
  unmap(one.memory, one.bytes + one.guard_size);
  mapping_lock.take();
}

/// Call with the lock held. The lock is released while the kernel works, so another thread may enlarge the
/// table first.
bool grow() noexcept {
  const std::size_t had = room, wanted = had ? 2 * had : 256;
  mapping_lock.leave();
  auto* spare = static_cast<mapping*>(map(wanted * sizeof(mapping)));
  mapping_lock.take();
  if (!spare) return false;
  std::size_t spare_room = wanted;
  if (room == had) {
    std::swap(spare, places);
    std::swap(spare_room, room);
    for (std::size_t k = 0; k < had; ++k)
      if (spare[k].memory) places[find(spare[k].memory)] = spare[k];
  }
  if (spare) drop({reinterpret_cast<char*>(spare), spare_room * sizeof(mapping)});
  return true;
}

bool insert(mapping one) noexcept {
  while (2 * (counts.blocks + 1) > room)
    if (!grow()) return false;
  places[find(one.memory)] = one;
  ++counts.blocks;
  counts.bytes += one.bytes;
  return true;
}

/// Leaves no tombstone: the entries after it move up.
void erase(std::size_t hole) noexcept {
  --counts.blocks;
  counts.bytes -= places[hole].bytes;
  for (std::size_t k = (hole + 1) & (room - 1); places[k].memory; k = (k + 1) & (room - 1)) {
    if (((k - home_of(places[k].memory)) & (room - 1)) < ((k - hole) & (room - 1))) continue;
    places[hole] = places[k];
    hole = k;
  }
  places[hole] = {};
}

mapping* known(const void* memory) noexcept {
  if (!room || !memory) return nullptr;
  mapping& at = places[find(memory)];
  return at.memory ? &at : nullptr;
}

mapping unkeep(std::size_t k) noexcept {
  const mapping taken = kept[k];
  counts.kept_bytes -= taken.bytes;
  for (--num_kept; k < num_kept; ++k) kept[k] = kept[k + 1];
  oldest_since.store(num_kept ? kept[0].since : 0, std::memory_order_relaxed);
  return taken;
}

/// The same memory with another size, moved if need be; empty if that is impossible. If the kernel refuses to split a mapping, its excess
/// stays mapped, without memory.
mapping resized(mapping old, std::size_t bytes) noexcept {
#ifdef __SANITIZE_THREAD__
  // ThreadSanitizer does not see mremap(). It takes the new place for its previous content, such as the stack of an ended thread.
  if (bytes) return {};
#endif
  void* const moved = mremap(old.memory, old.bytes, bytes, MREMAP_MAYMOVE);
  if (moved == MAP_FAILED) {
    if (bytes > old.bytes) return {};
    purge(old.memory + bytes, old.bytes - bytes);
    return old;
  }
  of_system.subtract(old.bytes);
  of_system.add(bytes);
  return {static_cast<char*>(moved), bytes};
}

/// The kept mapping of the nearest size, so that few pages are new. It may be smaller. Of one that is more than a quarter larger, only the
/// front is taken. Empty if none fits. If the alignment exceeds a page, only mappings that can stay in place are taken.
mapping reuse(std::size_t bytes, std::size_t alignment) noexcept {
  const auto apart = [bytes](const mapping& one) {
    return one.bytes > bytes ? one.bytes - bytes : bytes - one.bytes;
  };
  std::size_t best = num_kept;
  for (std::size_t k = 0; k < num_kept; ++k) {
    const mapping& one = kept[k];
    const bool stays =
        one.bytes >= bytes && !(reinterpret_cast<std::uintptr_t>(one.memory) & (alignment - 1));
    if (!stays && alignment > system_page) continue;
    if (best == num_kept || apart(one) < apart(kept[best])) best = k;
  }
  if (best == num_kept) return {};
  mapping& one = kept[best];
  if (one.bytes > bytes + bytes / 4) {
    const mapping front{one.memory, bytes};
    one.memory += bytes;
    one.bytes -= bytes;
    counts.kept_bytes -= bytes;
    return front;
  }
  return unkeep(best);
}

void drop_oldest() noexcept { drop(unkeep(0)); }

/// Three eighths of what is in use may be kept for reuse. With less, a program that replaces large blocks loses its time to pages that the
/// kernel has to clear anew. With half, its peak was a sixth above that of the leanest allocator.
std::size_t most_kept() noexcept { return most_free(counts.bytes / 8 * 3); }

/// Drops mappings that were kept for too long, and as many as necessary to keep one of `bytes` more.
void make_room(std::size_t bytes, std::uint64_t now) noexcept {
  while (num_kept && (kept[0].since + chosen.decay_ms <= now || num_kept == kept.size() ||
                      counts.kept_bytes + bytes > most_kept()))
    drop_oldest();
}

/// A hardened process keeps none: a returned block is unmapped, so that using it faults.
void keep(mapping one) noexcept {
  const std::uint64_t now = now_ms();
  const std::size_t wanted = !one.guard_size && one.bytes <= most_kept() / 2 ? one.bytes : 0;
  make_room(wanted, now);
  if (!wanted) return drop(one);
  kept[num_kept++] = {one, now};
  oldest_since.store(kept[0].since, std::memory_order_relaxed);
  counts.kept_bytes += one.bytes;
}

}  // namespace

void* take_mapping(std::size_t bytes, std::size_t alignment, std::size_t& dirty) noexcept {
  const std::size_t guard_size = guard_bytes();
  bytes = round_up((bytes ? bytes : 1) + guard_size, slice) - guard_size;
  mapping taken{};
  if (!guard_size) {
    const locked hold(mapping_lock);
    taken = reuse(bytes, alignment);
  }
  dirty = taken.bytes;
  if (taken.memory && taken.bytes < bytes) {
    const mapping grown = resized(taken, bytes);
    if (!grown.memory) unmap(taken.memory, taken.bytes);
    taken = grown;
  }
  if (!taken.memory) {
    dirty = 0;
    taken = {static_cast<char*>(map_aligned(bytes + guard_size, alignment)), bytes,
             static_cast<std::uint32_t>(guard_size)};
    if (!taken.memory) return nullptr;
    if (guard_size) taken.guarded = protect(taken.memory + bytes);
  }
  const locked hold(mapping_lock);
  if (insert(taken)) return taken.memory;
  drop(taken);
  return nullptr;
}

bool give_mapping(void* memory) noexcept {
  const locked hold(mapping_lock);
  const mapping* const at = known(memory);
  if (!at) return false;
  const mapping given = *at;
  erase(static_cast<std::size_t>(at - places));
  keep(given);
  return true;
}

std::size_t mapping_bytes(const void* memory) noexcept {
  const locked hold(mapping_lock);
  const mapping* const at = known(memory);
  return at ? at->bytes : 0;
}

void* resize_mapping(void* memory, std::size_t bytes) noexcept {
  bytes = round_up(bytes, slice);
  const locked hold(mapping_lock);
  const mapping* const at = known(memory);
  if (!at || at->guard_size) return nullptr;
  const mapping old = *at;
  // Erased before it moves, because another thread may get the old address at once. Its room in the table stays reserved.
  erase(static_cast<std::size_t>(at - places));
  ++counts.blocks;
  mapping_lock.leave();
  const mapping moved = resized(old, bytes);
  mapping_lock.take();
  --counts.blocks;
  insert(moved.memory ? moved : old);
  if (bytes < old.bytes) make_room(0, now_ms());
  return moved.memory;
}

void age_mappings(std::uint64_t now) noexcept {
  const auto are_old = [now] {
    const std::uint64_t since = oldest_since.load(std::memory_order_relaxed);
    return since && now >= since && now - since >= chosen.decay_ms;
  };
  if (!are_old()) return;
  const locked hold(mapping_lock);
  while (num_kept && are_old()) drop_oldest();
}

std::size_t purge_mappings() noexcept {
  const locked hold(mapping_lock);
  const std::size_t bytes = counts.kept_bytes;
  while (num_kept) drop_oldest();
  return bytes;
}

mapping_counts count_mappings() noexcept {
  const locked hold(mapping_lock);
  return counts;
}

}  // namespace corescale::process_heap
