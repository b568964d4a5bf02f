// SPDX-License-Identifier: Apache-2.0
#include "corescale/memory/detail/pool.hpp"

#include <new>

#include "registry.hpp"
#include "report.hpp"
#include "system_memory.hpp"

namespace corescale::inline v0::alloc_variant {

std::size_t per_thread::accounts::available() const noexcept {
  std::size_t bytes = newest_ ? newest_->capacity() : 0;
  for (std::size_t c = 0; c < detail::num_classes; ++c) bytes += lists_[c].length * detail::class_capacity(c);
  return bytes;
}

}  // namespace corescale::alloc_variant

namespace corescale::inline v0::detail {

template <class Variant>
pool<Variant>& pool<Variant>::attached() {
  pool*& mine = own_pool<Variant>();
  if (!mine) {
    mine = &pools<Variant>().attach();
    if (!address_sanitizer_watches()) current_pool<Variant>() = mine;
  }
  return *mine;
}

template <class Variant>
pool<Variant>* pool<Variant>::attached_or_null() noexcept {
  try {
    return &attached();
  } catch (...) {
    return nullptr;
  }
}

template <class Variant>
block* pool<Variant>::make(std::size_t size_class) noexcept {
  if (size_class < num_small) return slabs.take(size_class, variant_salt<Variant>());
  return block_from_system(size_class, variant_salt<Variant>());
}

template <class Variant>
block* pool<Variant>::take_slowly(std::size_t size_class) {
  if (size_class >= num_classes) throw std::bad_alloc();
  pool& mine = attached();
  block* b = nullptr;
  if constexpr (Variant::holds) {
    b = mine.pop(size_class);
    if (!b) {
      mine.drain();
      b = mine.pop(size_class);
    }
  }
  if (!b) {
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
  return b;
}

template <class Variant>
void pool<Variant>::give_slowly(block* b) noexcept {
  pool* const owner = owner_of<Variant>(b);
  switch (b->state()) {
    case in_use:
      return give_home(b, owner);
    case in_use_checked:
      if (!owner->lost) owner->account.erase(b);
      return give_home(b, owner);
    case shifted:
      b->seal = 0;  // so that an old pointer is known as foreign
      return give_slowly(unshifted(b));
    case available:
    case in_transit:
      break;
  }
  report_misuse(
      {misuse::double_return, b->memory(), b->capacity(), owner->number, number_of_this_thread<Variant>()});
}

template <class Variant>
void pool<Variant>::give_home(block* b, pool* owner) noexcept {
  if constexpr (Variant::holds) {
    pool* const mine = attached_or_null();
    if (owner == mine) return mine->put_or_release(b);
    forbid(b->memory(), b->capacity());
    return mine ? mine->send(b, owner) : owner->receive_one(b);
  } else {
    if (owner == own_pool<Variant>())
      owner->ended_in_use(b->capacity());
    else
      owner->gone_bytes.fetch_add(b->capacity(), std::memory_order_release);
    block_to_system(b);
  }
}

template <class Variant>
void pool<Variant>::put_or_release(block* b) noexcept {
  b->stamp = stamp(available);
  if constexpr (Variant::holds) {
    if (accepts.load(std::memory_order_relaxed)) {
      forbid(b->memory(), b->capacity());
      return this->push(b);
    }
  }
  this->ended_in_use(b->capacity());
  discard(b);
}

template <class Variant>
void pool<Variant>::discard(block* b) noexcept {
  if (b->size_class >= num_small) return block_to_system(b);
  forbid(b->memory(), b->capacity());
  slabs.put(b);
}

template <class Variant>
void pool<Variant>::release_available() noexcept {
  if constexpr (Variant::holds) {
    for (std::size_t c = Variant::first_class; c < num_classes; ++c) {
      while (block* const b = this->pop(c)) {
        this->ended_in_use(b->capacity());
        discard(b);
      }
    }
    slabs.release();
  }
}

#define CORESCALE_INSTANTIATE(variant) template struct pool<alloc_variant::variant>;
CORESCALE_FOR_EACH_ALLOC_VARIANT(CORESCALE_INSTANTIATE)
#undef CORESCALE_INSTANTIATE

}  // namespace corescale::detail
