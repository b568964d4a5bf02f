// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include "corescale/memory/detail/pool.hpp"

namespace corescale::inline v0::detail {

in_use_account::~in_use_account() { std::free(places_); }

/// Where b is, or the free place where it belongs.
std::size_t in_use_account::place_of(const block* b) const noexcept {
  const std::uint64_t mixed = reinterpret_cast<std::uintptr_t>(b) * 0x9e3779b97f4a7c15;
  std::size_t place = (mixed >> 32) & (room_ - 1);
  while (places_[place] && places_[place] != b) place = (place + 1) & (room_ - 1);
  return place;
}

bool in_use_account::grow() noexcept {
  const std::size_t old_room = room_;
  block** const old = places_;
  const std::size_t room = old_room ? 2 * old_room : 64;
  void* const made = std::calloc(room, sizeof(block*));
  if (!made) return false;
  places_ = static_cast<block**>(made);
  room_ = room;
  for (std::size_t k = 0; k < old_room; ++k)
    if (old[k]) places_[place_of(old[k])] = old[k];
  std::free(old);
  return true;
}

bool in_use_account::insert(block* b) noexcept {
  const std::lock_guard lock(mutex);
  if (2 * (size_ + 1) > room_ && !grow()) return false;
  places_[place_of(b)] = b;
  ++size_;
  return true;
}

/// Those behind it move up, so that the search for them meets no gap.
void in_use_account::erase(const block* b) noexcept {
  const std::lock_guard lock(mutex);
  if (size_ == 0) return;
  std::size_t gap = place_of(b);
  if (!places_[gap]) return;
  --size_;
  places_[gap] = nullptr;
  for (std::size_t k = (gap + 1) & (room_ - 1); places_[k]; k = (k + 1) & (room_ - 1)) {
    block* const moved = places_[k];
    places_[k] = nullptr;
    places_[place_of(moved)] = moved;
  }
}

std::size_t in_use_account::list(std::vector<const void*>& memory) noexcept {
  const std::lock_guard lock(mutex);
  if (size_ > memory.capacity()) return size_;
  for (std::size_t k = 0; k < room_; ++k)
    if (places_[k]) memory.push_back(places_[k]->memory());
  return size_;
}

}  // namespace corescale::detail
