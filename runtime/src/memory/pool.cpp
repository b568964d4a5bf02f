// SPDX-License-Identifier: Apache-2.0
#include "corescale/memory/detail/pool.hpp"

#include <algorithm>
#include <new>

#include "registry.hpp"
#include "system_memory.hpp"

namespace corescale::inline v0::detail {

std::size_t accounts::available() const noexcept {
  std::size_t bytes = newest_ ? newest_->capacity() : 0;
  for (std::size_t c = 0; c < num_classes; ++c) bytes += lists_[c].length * class_capacity(c);
  return bytes;
}

pool& pool::attached() {
  pool*& mine = own_pool;
  if (!mine) {
    mine = &pools.attach();
    if (!address_sanitizer_watches()) current_pool = mine;
  }
  return *mine;
}

pool* pool::attached_or_null() noexcept {
  try {
    return &attached();
  } catch (...) {
    return nullptr;
  }
}

block* pool::make(std::size_t size_class) noexcept {
  if (size_class < num_small) return slabs.take(size_class);
  return block_from_system(size_class);
}

block* pool::take_slowly(std::size_t size_class) {
  if (size_class >= num_classes) throw std::bad_alloc();
  pool& mine = attached();
  block* b = mine.pop(size_class);
  if (!b) {
    mine.drain();
    b = mine.pop(size_class);
  }
  if (!b) {
    mine.release_excess();
    b = mine.make(size_class);
    if (!b) {
      mine.release_available();
      b = mine.make(size_class);
    }
    if (!b) throw std::bad_alloc();
    mine.made(b->capacity());
  }
  permit(b->memory(), b->capacity());
  b->stamp = mine.stamp(in_use);
  if (!is_kept(size_class)) {
    write_guard(b);
    b->stamp = mine.stamp(in_use_checked);
  }
  return b;
}

void pool::give_slowly(block* b) noexcept {
  pool* const owner = owner_of(b);
  switch (b->state()) {
    case in_use:
      return give_home(b, owner);
    case in_use_checked:
      if (!owner->lost) owner->account.erase(b);
      return give_home(b, owner);
    case shifted:
      b->seal = 0;  // the pointer counts as foreign from now on
      return give_slowly(unshifted(b));
    case block_state::available:
    case in_transit:
      break;
  }
  report_misuse({misuse::double_return, b->memory(), b->capacity(), owner->number, number_of_this_thread()});
}

void pool::give_home(block* b, pool* owner) noexcept {
  pool* const mine = attached_or_null();
  if (owner == mine) return mine->put_or_release(b);
  if (!is_kept(b->size_class)) {
    owner->gone_bytes.fetch_add(b->capacity(), std::memory_order_release);
    return block_to_system(b);
  }
  forbid(b->memory(), b->capacity());
  return mine ? mine->send(b, owner) : owner->receive_one(b);
}

void pool::put_or_release(block* b) noexcept {
  b->stamp = stamp(block_state::available);
  if (accepts.load(std::memory_order_relaxed) && is_kept(b->size_class)) {
    forbid(b->memory(), b->capacity());
    return push(b);
  }
  ended_in_use(b->capacity());
  discard(b);
}

void pool::discard(block* b) noexcept {
  if (b->size_class >= num_small) return block_to_system(b);
  forbid(b->memory(), b->capacity());
  slabs.put(b);
}

// Called before more memory is requested, because a program that goes on with other sizes keeps blocks of the
// earlier ones. An array that grows by doubling is to release its last block but one, which is a third of
// what is held.
void pool::release_excess() noexcept {
  if (held() < next_look_) return;
  if (available() > held() / 4) return release_available();
  next_look_ = std::max(first_look, held() + look_every);
}

void pool::release_available() noexcept {
  for (std::size_t c = 0; c < num_classes; ++c) {
    while (block* const b = pop(c)) {
      ended_in_use(b->capacity());
      discard(b);
    }
  }
  slabs.release();
  next_look_ = std::max(first_look, held() + look_every);
}

}  // namespace corescale::detail
