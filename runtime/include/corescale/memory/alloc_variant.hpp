// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>

#include "corescale/memory/detail/block.hpp"
#include "corescale/memory/detail/byte_count.hpp"

namespace corescale::inline v0 {

namespace detail {

/// One list per class, and an empty one for sizes that no class holds.
inline constexpr std::size_t num_lists = num_classes + 1;

/// The part of the shared vectors that belongs to one thread.
struct contiguous_slice {
  block** roots;
  byte_count* inuse;
  byte_count* available;
};

inline constexpr std::size_t contiguous_threads = std::size_t{1} << 16;

/// Throws std::bad_alloc for a number of contiguous_threads or more.
contiguous_slice slice_of_thread(std::size_t thread);

}  // namespace detail

/// The allocators that Bell and Hepperger compare, as policies: whether there are lists of available
/// blocks, where a thread's lists and byte counts lie, and what each event does to the counts. pop(c) takes
/// an available block of class c, null if there is none. push(b) makes b available. made() and ended_in_use()
/// tell of blocks in use that came from the system or went there; pop() then ended_in_use() is how an
/// available one goes there.
namespace alloc_variant {

/// The default, and what became of version 2012_1 (below): a structure of its own for each thread, which shares no cache line.
/// The block returned last stands in front of all lists, in a place of its own: a request of the same size
/// takes it from there without a look at its list, and the next one finds the place at a fixed address. A
/// place that depended on the block would make each call wait until the one before has read the block's size.
/// Below the study's capacities it has small classes, whose blocks lie side by side in slabs.
struct per_thread {
  static constexpr bool holds = true;
  static constexpr std::size_t first_class = 0;
  static constexpr const char* name = "per_thread";

  class accounts {
   public:
    [[gnu::always_inline]] detail::block* pop(std::size_t c) noexcept {
      detail::block* const newest = newest_;
      if (newest && newest->size_class == c) [[likely]] {
        newest_ = nullptr;
        return newest;
      }
      list& from = lists_[c];
      detail::block* const front = from.root;
      if (!front) return nullptr;
      from.root = next_of(front);
      --from.length;
      return front;
    }

    [[gnu::always_inline]] void push(detail::block* b) noexcept {
      detail::block* const before = newest_;
      newest_ = b;
      if (!before) return;
      list& to = lists_[before->size_class];
      set_next(before, to.root);
      to.root = before;
      ++to.length;
    }

    std::size_t available() const noexcept;
    std::size_t inuse() const noexcept { return held_.get() - available(); }
    void made(std::size_t bytes) noexcept { held_.add(bytes); }
    void ended_in_use(std::size_t bytes) noexcept { held_.subtract(bytes); }

   private:
    struct list {
      detail::block* root = nullptr;
      std::size_t length = 0;
    };
    detail::block* newest_ = nullptr;
    std::array<list, detail::num_lists> lists_{};
    detail::byte_count held_;
  };
};

/// Version 2012_0: the roots of all threads in one vector, their counts in two more. Threads that share no
/// data share cache lines, so each call of one slows the others down. Here to show that; it serves at most
/// detail::contiguous_threads threads at a time, as its vectors cannot move.
struct contiguous {
  static constexpr bool holds = true;
  static constexpr std::size_t first_class = detail::num_small;
  static constexpr const char* name = "contiguous";

  class accounts {
   public:
    constexpr explicit accounts(detail::contiguous_slice slice) : slice_(slice) {}

    [[gnu::always_inline]] detail::block* pop(std::size_t c) noexcept {
      detail::block*& root = slice_.roots[c];
      detail::block* const front = root;
      if (!front) return nullptr;
      root = next_of(front);
      slice_.inuse->add(detail::class_capacity(c));
      slice_.available->subtract(detail::class_capacity(c));
      return front;
    }

    [[gnu::always_inline]] void push(detail::block* b) noexcept {
      detail::block*& root = slice_.roots[b->size_class];
      set_next(b, root);
      root = b;
      slice_.inuse->subtract(b->capacity());
      slice_.available->add(b->capacity());
    }

    std::size_t available() const noexcept { return slice_.available->get(); }
    std::size_t inuse() const noexcept { return slice_.inuse->get(); }
    void made(std::size_t bytes) noexcept { slice_.inuse->add(bytes); }
    void ended_in_use(std::size_t bytes) noexcept { slice_.inuse->subtract(bytes); }
    const detail::contiguous_slice& slice() const noexcept { return slice_; }

   private:
    detail::contiguous_slice slice_;
  };
};

/// Version 2012_1: the code of `contiguous`, with a thread's roots and counts in a structure of its own. What the two differ by is
/// false sharing, and nothing else.
struct separate {
  static constexpr bool holds = true;
  static constexpr std::size_t first_class = detail::num_small;
  static constexpr const char* name = "separate";

  class accounts : public contiguous::accounts {
   public:
    constexpr accounts() : contiguous::accounts({roots_, &inuse_, &available_}) {}

   private:
    detail::block* roots_[detail::num_lists]{};
    detail::byte_count inuse_, available_;
  };
};

/// Version 2011_0: the system allocator, with its sizes rounded up to the capacities.
struct system {
  static constexpr bool holds = false;
  static constexpr std::size_t first_class = detail::num_small;
  static constexpr const char* name = "system";

  class accounts {
   public:
    std::size_t available() const noexcept { return 0; }
    std::size_t inuse() const noexcept { return inuse_.get(); }
    void made(std::size_t bytes) noexcept { inuse_.add(bytes); }
    void ended_in_use(std::size_t bytes) noexcept { inuse_.subtract(bytes); }

   private:
    detail::byte_count inuse_;
  };
};

}  // namespace alloc_variant

/// What is made once for each variant is made by a macro of its name: `use(per_thread)` and so on, the default first.
#define CORESCALE_FOR_EACH_ALLOC_VARIANT(use) use(per_thread) use(contiguous) use(separate) use(system)

}  // namespace corescale
