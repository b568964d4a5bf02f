// SPDX-License-Identifier: Apache-2.0
// How a block that another thread returns comes back to its owner.
#include <sched.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <new>
#include <span>
#include <utility>

#include "corescale/memory/detail/pool.hpp"
#include "system_memory.hpp"

namespace corescale::inline v0::detail {

/// The batches of one thread that returns what others own. Owners whose numbers agree in the last bits share
/// one.
struct outbox {
  std::array<batch, 64> batches;

  batch& batch_for(const pool* owner) noexcept { return batches[owner->number % batches.size()]; }
};

namespace {

/// Some of the blocks that go home together, the carriers, hold the addresses of the others in their memory.
/// So the others stay untouched, and their cache lines move once, straight to the owner. Word 0 of a carrier is the next carrier. The words
/// after it are its cargo, up to a null or the end.
struct carriers {
  block* newest;
  block* oldest;
};

/// Words of a carrier's memory that hold cargo.
std::size_t cargo_room(const block* carrier) noexcept { return carrier->capacity() / sizeof(block*) - 1; }

/// The carriers of these blocks, of which there is one at least.
carriers load(std::span<block* const> blocks) noexcept {
  carriers made{blocks.front(), blocks.front()};
  set_next(made.oldest, nullptr);
  std::size_t cargo = 0;
  for (block* const b : blocks.subspan(1)) {
    if (cargo < cargo_room(made.newest)) {
      set_word(made.newest, ++cargo, b);
    } else {
      set_next(b, made.newest);
      made.newest = b;
      cargo = 0;
    }
  }
  if (cargo < cargo_room(made.newest)) set_word(made.newest, 1 + cargo, nullptr);
  return made;
}

/// Calls function(b) for each block of the batch, a carrier after its cargo.
template <class Function>
void unload(block* newest, Function function) {
  constexpr std::size_t most = batch::max_blocks;
  for (block* carrier = newest; carrier;) {
    block* const next = next_of(carrier);
    __builtin_prefetch(next, 1);
    std::array<block*, most> cargo;
    std::size_t size = 0;
    for (; size < most && size < cargo_room(carrier); ++size) {
      cargo[size] = word_of(carrier, 1 + size);
      if (!cargo[size]) break;
      __builtin_prefetch(cargo[size], 1);
    }
    for (std::size_t k = 0; k < size; ++k) function(cargo[k]);
    function(carrier);
    carrier = next;
  }
}

}  // namespace

/// bytes_for() must not count the bytes of one owner for another. Each store to owner_ and bytes_ is a release, and its loads of them are
/// acquires. So if it reads a newer owner or newer bytes, its last load of changes_ differs from its first, and it tries again.
void batch::turn_to(pool* owner) noexcept {
  if (owner_.load(std::memory_order_relaxed) == owner) return;
  flush();
  const std::size_t changes = changes_.load(std::memory_order_relaxed);
  changes_.store(changes + 1, std::memory_order_relaxed);
  owner_.store(owner, std::memory_order_release);
  changes_.store(changes + 2, std::memory_order_release);
}

std::size_t batch::bytes_for(const pool* home) const noexcept {
  for (;; sched_yield()) {
    const std::size_t changes = changes_.load(std::memory_order_acquire);
    const pool* const owner = owner_.load(std::memory_order_acquire);
    const std::size_t bytes = bytes_.load(std::memory_order_acquire);
    if (changes % 2 == 0 && changes_.load(std::memory_order_relaxed) == changes)
      return owner == home ? bytes : 0;
  }
}

/// The bytes leave this count before they enter the owner's, so that a thread that reads the owner's first counts
/// none twice.
void batch::flush() noexcept {
  if (size_ == 0) return;
  const auto [newest, oldest] = load({blocks_.data(), std::exchange(size_, 0)});
  const std::size_t bytes = bytes_.load(std::memory_order_relaxed);
  bytes_.store(0, std::memory_order_release);
  owner_.load(std::memory_order_relaxed)->receive(newest, oldest, bytes);
}

/// If there is no memory for an outbox, each block goes home by itself.
void pool::send(block* b, pool* owner) noexcept {
  outbox* out = outgoing.load(std::memory_order_relaxed);
  if (!out) {
    void* const room = std::malloc(sizeof(outbox));
    if (!room) return owner->receive_one(b);
    out = new (room) outbox;
    outgoing.store(out, std::memory_order_release);
  }
  returned = &out->batch_for(owner);
  returned->turn_to(owner);
  returns = owner->stamp(in_use);
  returned->add(b);
}

void pool::flush_all() noexcept {
  if (outbox* const out = outgoing.load(std::memory_order_relaxed))
    for (batch& one : out->batches) one.flush();
}

std::size_t pool::bytes_on_their_way_to(const pool* home) const noexcept {
  const outbox* const out = outgoing.load(std::memory_order_acquire);
  std::size_t bytes = 0;
  if (out)
    for (const batch& one : out->batches) bytes += one.bytes_for(home);
  return bytes;
}

void pool::receive_one(block* b) noexcept {
  set_next(b, nullptr);
  set_word(b, 1, nullptr);
  receive(b, b, b->capacity());
}

/// Called by any thread. Blocks that arrive while the owner ends wait for the number's next thread, or for free_available(). Small blocks
/// always do, because only the owner may touch their slab.
void pool::receive(block* newest, block* oldest, std::size_t bytes) noexcept {
  const bool to_system = !receives.load(std::memory_order_acquire);
  if (to_system && (newest->size_class >= num_small || newest != oldest || word_of(newest, 1))) {
    return unload(newest, [this](block* b) {
      if (b->size_class < num_small) return receive_one(b);
      gone_bytes.fetch_add(b->capacity(), std::memory_order_release);
      block_to_system(b);
    });
  }
  inbox_bytes.fetch_add(bytes, std::memory_order_release);
  block* front = inbox.load(std::memory_order_relaxed);
  do {
    set_next(oldest, front);
  } while (!inbox.compare_exchange_weak(front, newest, std::memory_order_release, std::memory_order_relaxed));
}

void pool::drain() noexcept {
  if (!inbox.load(std::memory_order_relaxed)) return;
  const bool holds = accepts.load(std::memory_order_relaxed) && !address_sanitizer_watches();
  std::size_t bytes = 0;
  unload(inbox.exchange(nullptr, std::memory_order_acquire), [&](block* b) {
    bytes += b->capacity();
    if (holds) {
      b->stamp = stamp(block_state::available);
      return push(b);
    }
    put_or_release(b);
  });
  inbox_bytes.fetch_sub(bytes, std::memory_order_relaxed);
}

pool::~pool() { std::free(outgoing.load(std::memory_order_relaxed)); }

}  // namespace corescale::detail
