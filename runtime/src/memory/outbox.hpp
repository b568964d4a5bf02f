// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "corescale/memory/detail/pool.hpp"

namespace corescale::inline v0::detail {

/// The batches of one thread that returns what others own. Owners whose numbers agree in the last bits share
/// one.
struct outbox {
  std::array<batch, 64> batches;

  batch& batch_for(const pool* owner) noexcept { return batches[owner->number % batches.size()]; }
};

/// Of the blocks that go home together some, the carriers, hold the addresses of others in their memory, so that the others stay
/// untouched: their cache lines move once, straight to the owner. Word 0 of a carrier is the next carrier, the words behind it are
/// its cargo, up to a null or the end.
struct carriers {
  block* newest;
  block* oldest;
};

/// Words of a carrier's memory that hold cargo.
inline std::size_t cargo_room(const block* carrier) noexcept {
  return carrier->capacity() / sizeof(block*) - 1;
}

/// The carriers of these blocks, of which there is one at least.
inline carriers load(std::span<block* const> blocks) noexcept {
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

}  // namespace corescale::detail
