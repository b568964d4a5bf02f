// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>

#include "corescale/machine/cache_line.hpp"
#include "corescale/memory/capacity.hpp"

namespace corescale::inline v0 {

namespace detail {

struct block;

/// A count of bytes that one thread writes and any may read. Exact for the writer, and for others once they
/// are ordered behind it (a join, sequential mode).
class byte_count {
 public:
  std::size_t get() const noexcept { return bytes_.load(std::memory_order_relaxed); }
  void add(std::size_t bytes) noexcept { bytes_.store(get() + bytes, std::memory_order_relaxed); }
  void subtract(std::size_t bytes) noexcept { add(0 - bytes); }

 private:
  std::atomic<std::size_t> bytes_{0};
};

/// One list per capacity, and an empty one for sizes that no capacity holds.
inline constexpr std::size_t num_lists = num_capacities + 1;

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

/// The three allocators that Bell and Hepperger compare, as policies: whether there are lists of available
/// blocks, where a thread's roots and byte counts lie, and what each event does to the counts.
namespace alloc_variant {

/// Version 2012_1, the default: a structure of its own for each thread, which shares no cache line. Unlike
/// the original it counts neither request nor return: each list knows its length, so what is available
/// follows, and with it what is in use. A count per call would make each call wait for the one before.
struct per_thread {
  static constexpr bool holds = true;
  static constexpr const char* name = "per_thread";

  class accounts {
   public:
    detail::block*& root(std::size_t i) noexcept { return roots_[i]; }
    std::size_t available() const noexcept;
    std::size_t inuse() const noexcept { return held_.get() - available(); }

    void reused(std::size_t) noexcept {}
    void kept(std::size_t) noexcept {}
    void made(std::size_t bytes) noexcept { held_.add(bytes); }
    void ended_in_use(std::size_t bytes) noexcept { held_.subtract(bytes); }
    void ended_available(std::size_t bytes) noexcept { held_.subtract(bytes); }

   private:
    std::array<detail::block*, detail::num_lists> roots_{};
    detail::byte_count held_;
  };
};

/// Version 2012_0: the roots of all threads in one vector, their counts in two more. Threads that share no
/// data share cache lines, so each call of one slows the others down. Here to show that; it serves at most
/// detail::contiguous_threads threads at a time, as its vectors cannot move.
struct contiguous {
  static constexpr bool holds = true;
  static constexpr const char* name = "contiguous";

  class accounts {
   public:
    constexpr explicit accounts(detail::contiguous_slice slice) : slice_(slice) {}
    detail::block*& root(std::size_t i) noexcept { return slice_.roots[i]; }
    std::size_t available() const noexcept { return slice_.available->get(); }
    std::size_t inuse() const noexcept { return slice_.inuse->get(); }
    const detail::contiguous_slice& slice() const noexcept { return slice_; }

    void reused(std::size_t bytes) noexcept {
      slice_.inuse->add(bytes);
      slice_.available->subtract(bytes);
    }
    void kept(std::size_t bytes) noexcept {
      slice_.inuse->subtract(bytes);
      slice_.available->add(bytes);
    }
    void made(std::size_t bytes) noexcept { slice_.inuse->add(bytes); }
    void ended_in_use(std::size_t bytes) noexcept { slice_.inuse->subtract(bytes); }
    void ended_available(std::size_t bytes) noexcept { slice_.available->subtract(bytes); }

   private:
    detail::contiguous_slice slice_;
  };
};

/// Version 2011_0: the system allocator, with its sizes rounded up to the capacities.
struct system {
  static constexpr bool holds = false;
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
}  // namespace corescale
