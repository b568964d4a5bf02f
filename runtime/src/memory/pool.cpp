// SPDX-License-Identifier: Apache-2.0
#include "corescale/memory/detail/pool.hpp"

#include <new>
#include <utility>

#include "registry.hpp"
#include "report.hpp"
#include "system_memory.hpp"

namespace corescale::inline v0::detail {
namespace {

template <class Variant>
pool<Variant>* owner_of(const block* b) noexcept {
  return reinterpret_cast<pool<Variant>*>(b->stamp & ~state_bits);
}

block** cargo_of(block* carrier) noexcept { return static_cast<block**>(carrier->memory()); }

/// Calls function(b) for each block of the batch, its carrier last.
template <class Function>
void unload(block* carrier, Function function) {
  block** const cargo = cargo_of(carrier);
  const std::size_t size = carrier->back;
  for (std::size_t j = 0; j < size; ++j) __builtin_prefetch(cargo[j], 1);
  for (std::size_t j = 0; j < size; ++j) function(cargo[j]);
  function(carrier);
}

}  // namespace
}  // namespace corescale::detail

namespace corescale::inline v0::alloc_variant {

std::size_t per_thread::accounts::available() const noexcept {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < num_capacities; ++i)
    if (roots_[i]) bytes += roots_[i]->back * capacity_at(i);
  return bytes;
}

}  // namespace corescale::alloc_variant

namespace corescale::inline v0::detail {

template <class Variant>
pool<Variant>& pool<Variant>::attached() {
  pool*& mine = current_pool<Variant>();
  if (mine == unattached<Variant>()) mine = &pools<Variant>().attach();
  return *mine;
}

template <class Variant>
block* pool<Variant>::take_slowly(std::size_t i) {
  if (i >= num_capacities) throw std::bad_alloc();
  pool& mine = attached();
  if constexpr (Variant::holds) {
    mine.drain();
    if (mine.root(i)) return take(i);
  }
  block* made = block_from_system(i, variant_salt<Variant>());
  if (!made) {
    mine.release_available();
    made = block_from_system(i, variant_salt<Variant>());
  }
  if (!made) throw std::bad_alloc();
  made->stamp = mine.stamp(in_use);
  mine.made(made->capacity());
  return made;
}

template <class Variant>
void pool<Variant>::give_slowly(block* b) {
  pool* const owner = owner_of<Variant>(b);
  switch (b->state()) {
    case in_use:
      return give_home(b, owner);
    case in_use_checked:
      owner->account.erase(b);
      b->stamp = owner->stamp(in_use);
      return give(b);
    case shifted:
      return give(unshifted(b));
    case available:
    case in_transit:
      report_misuse({misuse::double_return, b->memory(), b->capacity(), owner->number, attached().number});
  }
}

template <class Variant>
void pool<Variant>::give_home(block* b, pool* owner) {
  pool& mine = attached();
  if (owner == &mine) {
    mine.put_or_release(b);
  } else if constexpr (Variant::holds) {
    mine.send(b, owner);
  } else {
    owner->gone_bytes.fetch_add(b->capacity(), std::memory_order_relaxed);
    block_to_system(b);
  }
}

template <class Variant>
void pool<Variant>::put_or_release(block* b) noexcept {
  if constexpr (Variant::holds) {
    if (accepts.load(std::memory_order_relaxed)) return put(b);
  }
  this->ended_in_use(b->capacity());
  block_to_system(b);
}

template <class Variant>
void pool<Variant>::send(block* b, pool* owner) noexcept {
  batch<Variant>& out = outgoing[owner->number % outgoing.size()];
  if (out.owner.load(std::memory_order_relaxed) != owner) {
    flush(out);
    out.owner.store(owner, std::memory_order_relaxed);
  }
  const std::size_t bytes = out.bytes.load(std::memory_order_relaxed) + b->capacity();
  out.bytes.store(bytes, std::memory_order_relaxed);
  forbid(b->memory(), b->capacity());
  if (out.carrier) {
    cargo_of(out.carrier)[out.cargo++] = b;
  } else {
    out.carrier = b;
    permit(b->memory(), batch<Variant>::max_cargo * sizeof(block*));
  }
  if (out.cargo == batch<Variant>::max_cargo || bytes >= batch<Variant>::max_bytes) flush(out);
}

template <class Variant>
void pool<Variant>::flush(batch<Variant>& out) noexcept {
  pool* const owner = out.owner.exchange(nullptr, std::memory_order_relaxed);
  const std::size_t bytes = out.bytes.exchange(0, std::memory_order_relaxed);
  block* const carrier = std::exchange(out.carrier, nullptr);
  if (!carrier) return;
  carrier->back = std::exchange(out.cargo, 0);
  owner->receive(carrier, bytes);
}

template <class Variant>
void pool<Variant>::flush_all() noexcept {
  for (batch<Variant>& out : outgoing) flush(out);
}

/// By any thread. What arrives in the moment in which the owner ends waits for the number's next thread, or
/// for free_available().
template <class Variant>
void pool<Variant>::receive(block* carrier, std::size_t bytes) noexcept {
  if (!receives.load(std::memory_order_acquire)) {
    gone_bytes.fetch_add(bytes, std::memory_order_relaxed);
    return unload(carrier, block_to_system);
  }
  inbox_bytes.fetch_add(bytes, std::memory_order_relaxed);
  block* newest = inbox.load(std::memory_order_relaxed);
  do {
    carrier->next = newest;
  } while (
      !inbox.compare_exchange_weak(newest, carrier, std::memory_order_release, std::memory_order_relaxed));
}

template <class Variant>
void pool<Variant>::drain() noexcept {
  if (!inbox.load(std::memory_order_relaxed)) return;
  std::size_t bytes = 0;
  for (block* carrier = inbox.exchange(nullptr, std::memory_order_acquire); carrier;) {
    block* const older = carrier->next;
    unload(carrier, [&](block* b) {
      bytes += b->capacity();
      put_or_release(b);
    });
    carrier = older;
  }
  inbox_bytes.fetch_sub(bytes, std::memory_order_relaxed);
}

template <class Variant>
void pool<Variant>::release_available() noexcept {
  if constexpr (Variant::holds) {
    for (std::size_t i = 0; i < num_capacities; ++i) {
      while (block* const front = this->root(i)) {
        this->root(i) = front->next;
        this->ended_available(capacity_at(i));
        block_to_system(front);
      }
    }
  }
}

template struct pool<alloc_variant::per_thread>;
template struct pool<alloc_variant::contiguous>;
template struct pool<alloc_variant::system>;

}  // namespace corescale::detail
