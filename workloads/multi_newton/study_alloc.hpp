// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <corescale/machine/cache_line.hpp>
#include <corescale/memory/capacity.hpp>
#include <corescale/memory/detail/accounts.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <new>
#include <vector>

/// The allocators that Bell and Hepperger 2012 compare, from section VI. The library's own allocator grew out of them.
/// As there, a thread asks for memory at any time, and returns another thread's only while nothing runs in parallel.
namespace multi_newton {

// NOLINTBEGIN(cppcoreguidelines-no-malloc,bugprone-sizeof-expression): an allocator above malloc(), with vectors of pointers

/// The header before the memory that a program gets.
struct Block {
  struct Slice* owner;
  std::size_t capacity_index;

  Block*& next() noexcept { return *reinterpret_cast<Block**>(this + 1); }  // while it is available
};

/// The data of one thread: the first available block of each capacity, and two byte counts.
struct Slice {
  Block** roots;
  corescale::detail::byte_count* inuse;
  corescale::detail::byte_count* available;
};

inline constexpr std::size_t most_threads = std::size_t{1}
                                            << 17;  // at a time: a team of 65,536 and its master

/// Version 2012_0: the roots of all threads in one vector, their counts in two more. Threads that share no
/// data share the lines of their counts, so each call of one slows the others down. Their roots fill whole lines.
struct Contiguous {
  static constexpr bool holds = true;

  static Slice slice(std::size_t thread) {
    static Block** const roots = make_vector<Block*>(most_threads * corescale::num_capacities, 0);
    static auto* const inuse = make_vector<corescale::detail::byte_count>(most_threads, 1024);
    static auto* const available = make_vector<corescale::detail::byte_count>(most_threads, 2048);
    return {roots + thread * corescale::num_capacities, inuse + thread, available + thread};
  }

 private:
  /// Zeros; the system provides only the pages that are touched. Each vector starts at another offset in its page. Otherwise a core would
  /// confuse a thread's entries in all three (4 KiB aliasing), which this version is not meant to show. The offsets help only the first
  /// eight threads: some later ones have roots at the offset of their counts.
  template <class T>
  static T* make_vector(std::size_t size, std::size_t offset) {
    constexpr std::size_t page = 4096;
    void* const room = std::calloc(1, page + offset + size * sizeof(T));
    if (!room) throw std::bad_alloc();
    char* const start = static_cast<char*>(room);
    return reinterpret_cast<T*>(start + -reinterpret_cast<std::uintptr_t>(start) % page + offset);
  }
};

/// Version 2012_1: a thread's roots and counts in a structure of its own. Apart from false sharing, `Contiguous` touches three pages, and
/// this touches one.
struct Separate {
  static constexpr bool holds = true;

  static Slice slice(std::size_t) {
    struct alignas(corescale::cache_line) Own {
      std::array<Block*, corescale::num_capacities> roots{};
      corescale::detail::byte_count inuse, available;
    };
    static auto& all = *new std::deque<Own>;  // as Slices: never destroyed
    Own& made = all.emplace_back();
    return {made.roots.data(), &made.inuse, &made.available};
  }
};

/// Version 2011_0: the same code, but what is returned goes back to the system at once.
struct System : Separate {
  static constexpr bool holds = false;
};

/// The slices of one version. A thread has the least number that no living thread has, with all that it holds.
template <class Version>
class Slices {
 public:
  /// The calling thread's slice. Throws std::bad_alloc.
  static Slice& mine() {
    if (!current) [[unlikely]]
      attach();
    return *current;
  }

 private:
  struct Leave {
    std::size_t number = 0;
    ~Leave() {
      const std::lock_guard lock(mutex);
      current = nullptr;
      taken[number] = false;
    }
  };

  static void attach() {
    std::unique_lock lock(mutex);
    const auto number =
        static_cast<std::size_t>(std::find(taken.begin(), taken.end(), false) - taken.begin());
    if (number == most_threads) throw std::bad_alloc();
    if (number == slices.size()) slices.push_back(Version::slice(number));
    if (number == taken.size()) taken.push_back(false);
    taken[number] = true;
    current = &slices[number];
    lock.unlock();
    thread_local Leave leave;
    leave.number = number;
  }

  static inline constinit thread_local Slice* current = nullptr;
  static inline std::mutex mutex;
  // Never destroyed: blocks name their owner's slice as long as there are any.
  static inline std::vector<bool>& taken = *new std::vector<bool>;
  static inline std::deque<Slice>& slices = *new std::deque<Slice>;
};

/// One of the study's versions, as far as the workload uses an allocator.
template <class Version>
struct StudyAlloc {
  /// At least min_bytes bytes; capacity is set to how many there are. Alignment is that of malloc(). Throws std::bad_alloc.
  [[nodiscard]] static void* get_memory(std::size_t min_bytes, std::size_t& capacity,
                                        std::size_t alignment = 1) {
    const std::size_t index = corescale::capacity_index(min_bytes);
    if (index == corescale::num_capacities || alignment > alignof(std::max_align_t)) throw std::bad_alloc();
    capacity = corescale::capacity_at(index);
    Slice& mine = Slices<Version>::mine();
    Block* b = mine.roots[index];
    if (b) {
      mine.roots[index] = b->next();
      mine.available->subtract(capacity);
    } else {
      b = static_cast<Block*>(std::malloc(sizeof(Block) + capacity));
      if (!b) throw std::bad_alloc();
      *b = {&mine, index};
    }
    mine.inuse->add(capacity);
    return b + 1;
  }

  static void return_memory(void* memory) noexcept {
    Block* const b = static_cast<Block*>(memory) - 1;
    const Slice& owner = *b->owner;
    const std::size_t capacity = corescale::capacity_at(b->capacity_index);
    owner.inuse->subtract(capacity);
    if constexpr (Version::holds) {
      owner.available->add(capacity);
      b->next() = owner.roots[b->capacity_index];
      owner.roots[b->capacity_index] = b;
    } else {
      std::free(b);
    }
  }

  /// Bytes of the calling thread that are in use, and bytes that it holds, as sums of capacities.
  static std::size_t inuse() { return Slices<Version>::mine().inuse->get(); }
  static std::size_t available() { return Slices<Version>::mine().available->get(); }
};

/// malloc() with the study's capacities: no header, no counts, no lists. `System` takes longer by the cost of these, of a thread's
/// structure, and of requests that are larger by the header.
struct BareAlloc {
  [[nodiscard]] static void* get_memory(std::size_t min_bytes, std::size_t& capacity,
                                        std::size_t alignment = 1) {
    const std::size_t index = corescale::capacity_index(min_bytes);
    if (index == corescale::num_capacities || alignment > alignof(std::max_align_t)) throw std::bad_alloc();
    capacity = corescale::capacity_at(index);
    void* const memory = std::malloc(capacity);
    if (!memory) throw std::bad_alloc();
    return memory;
  }

  static void return_memory(void* memory) noexcept { std::free(memory); }
};

// NOLINTEND(cppcoreguidelines-no-malloc,bugprone-sizeof-expression)

}  // namespace multi_newton
