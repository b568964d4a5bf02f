// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "corescale/machine/cache_line.hpp"
#include "corescale/memory/detail/accounts.hpp"
#include "corescale/memory/detail/block.hpp"

// The state behind thread_alloc. take() and give() are the hot path and inline; all else is in the library.
namespace corescale::inline v0::detail {

struct outbox;
struct pool;
struct slab;

/// Where one thread's small blocks come from: slabs from the system, cut into blocks as they are needed.
/// Blocks that are put back here are spare. A slab goes back to the system once all of its blocks are spare.
class slab_store {
 public:
  /// A spare block of the class, or a new one; null when there is no memory. The caller has to write the
  /// stamp.
  block* take(std::size_t size_class) noexcept;

  void put(block* b) noexcept;

  /// Returns slabs to the system if all of their blocks are spare. Linear in spare blocks and slabs.
  void release() noexcept;

 private:
  struct source {
    block* spare = nullptr;
    slab* newest = nullptr;  ///< the one that is being cut; its list continues with all others
    std::size_t slabs = 0;
  };

  static slab* add_slab(source& from, std::size_t stride) noexcept;
  static void count_spare(source& from) noexcept;
  static void forget_whole_slabs(source& from) noexcept;
  static void free_whole_slabs(source& from) noexcept;

  std::array<source, num_small> sources_{};
};

/// Blocks of one owner that another thread has returned. They go home, to their owner, together and by one atomic operation.
/// A return reads only the block's header, and waits for nothing. The work of sending is done for all blocks at once, when their headers
/// are in the cache.
class batch {
 public:
  // A batch costs one atomic operation and one transfer of a cache line: 1 to 2 ns for each block. A larger batch would save little, and
  // keep more memory from its owner.
  static constexpr std::size_t max_blocks = 32;
  static constexpr std::size_t max_bytes = std::size_t{64} << 10;

  /// Sends the blocks of any other owner home; from now on the batch takes those of `owner`.
  void turn_to(pool* owner) noexcept;

  /// Adds a block of the owner.
  [[gnu::always_inline]] void add(block* b) noexcept {
    blocks_[size_++] = b;
    const std::size_t bytes = bytes_.load(std::memory_order_relaxed) + b->capacity();
    bytes_.store(bytes, std::memory_order_release);
    if (size_ == max_blocks || bytes >= max_bytes) [[unlikely]]
      flush();
  }

  void flush() noexcept;

  /// Bytes in the batch that belong to `home`. Any thread may call it.
  std::size_t bytes_for(const pool* home) const noexcept;

 private:
  std::atomic<pool*> owner_{nullptr};
  std::atomic<std::size_t> bytes_{0};
  std::atomic<std::size_t> changes_{0};  ///< odd while the owner changes
  std::size_t size_ = 0;
  std::array<block*, max_blocks> blocks_;
};

/// The blocks of one thread that checked code has in use. It has a mutex, because any thread may return a block and so remove it from here.
/// It is a set with open addressing, in memory from malloc().
class in_use_account {
 public:
  constexpr in_use_account() = default;
  in_use_account(const in_use_account&) = delete;
  in_use_account& operator=(const in_use_account&) = delete;
  ~in_use_account();

  /// False if there is no memory for it.
  bool insert(block* b) noexcept;
  void erase(const block* b) noexcept;

  /// Returns the number of blocks. Adds them to `memory`, which must be empty, if it has capacity for all. It is not enlarged here, because
  /// a program's operator new may be checked code.
  std::size_t list(std::vector<const void*>& memory) noexcept;

  std::mutex mutex;

 private:
  std::size_t place_of(const block* b) const noexcept;
  bool grow() noexcept;

  block** places_ = nullptr;
  std::size_t room_ = 0;  ///< a power of two, or 0; half of it is used at most
  std::size_t size_ = 0;
};

/// What one thread holds. Only its thread calls the non-static members, except receive().
struct alignas(cache_line) pool : accounts {
  constexpr pool(std::size_t thread, std::uintptr_t accepted) : accepts(accepted), number(thread) {}
  pool(const pool&) = delete;
  pool& operator=(const pool&) = delete;
  ~pool();

  /// A block of that class, in use. Throws std::bad_alloc.
  static block* take(std::size_t size_class);

  /// Returns the block to where it came from.
  static void give(block* b) noexcept;

  /// The same as take() and give(), with the checks.
  static block* take_checked(std::size_t size_class);
  static void give_checked(void* memory) noexcept;

  /// The block of `memory`, if it is in use. Otherwise calls the handler of misuse, then returns null.
  static block* verify(void* memory);

  /// The pool of the calling thread, which gets one if it has none. attached_or_null() returns null if there is no memory for a pool.
  static pool& attached();
  static pool* attached_or_null() noexcept;

  std::uintptr_t stamp(block_state state) const noexcept {
    return reinterpret_cast<std::uintptr_t>(this) | state;
  }

  void drain() noexcept;
  void flush_all() noexcept;
  void release_available() noexcept;
  void receive(block* newest, block* oldest, std::size_t bytes) noexcept;
  std::size_t bytes_on_their_way_to(const pool* home) const noexcept;

  /// The stamp of the blocks that give() may put straight into a list: this pool's blocks in use. While memory
  /// is not held, it is a stamp that no block has.
  std::atomic<std::uintptr_t> accepts;
  std::uintptr_t returns = 0;  ///< the stamp of the blocks that give() may add to `returned`; 0 for none
  batch* returned = nullptr;   ///< the batch of the owner whose block came last
  std::atomic<outbox*> outgoing{nullptr};  ///< made at the first return of another thread's block
  in_use_account account;
  slab_store slabs;

  // What other threads read, on a cache line that this thread seldom writes.
  alignas(cache_line) std::size_t number;
  bool live = false;                  ///< whether a thread has this pool; the registry's mutex guards it
  bool lost = false;                  ///< whether its thread exists only in the parent of this process
  std::atomic<bool> receives{false};  ///< while false, what comes home goes to the system instead
  pool* next_pool = nullptr;          ///< for the registry's own use

  alignas(cache_line) std::atomic<block*> inbox{nullptr};  ///< batches that came home, newest first
  std::atomic<std::size_t> inbox_bytes{0};
  std::atomic<std::size_t> gone_bytes{0};  ///< returned to the system by other threads

 private:
  // What a thread keeps is examined each time that it has got this much more from the system.
  static constexpr std::size_t look_every = std::size_t{16} << 20;
  static constexpr std::size_t first_look = 4 * look_every;

  static block* take_slowly(std::size_t size_class);
  static void give_slowly(block* b) noexcept;
  static void give_home(block* b, pool* owner) noexcept;
  block* make(std::size_t size_class) noexcept;
  void release_excess() noexcept;
  void put_or_release(block* b) noexcept;
  void discard(block* b) noexcept;
  void send(block* b, pool* owner) noexcept;
  void receive_one(block* b) noexcept;

  std::size_t next_look_ = first_look;  ///< once this many bytes are held, what is kept is examined
};

/// What thread_alloc does about whole threads. `checked`: whether its rules are enforced.
struct threads {
  static void hold_memory(bool hold) noexcept;
  static bool bind(std::size_t number);
  static std::size_t inuse(std::size_t thread, bool checked);
  static std::size_t available(std::size_t thread, bool checked);
  static void free_available(std::size_t thread, bool checked);
  static bool free_all(bool checked);
  static std::vector<const void*> checked_in_use(std::size_t thread);
};

/// The pool that the calling thread's hot path uses. Never null: a thread starts with a shared empty pool that accepts nothing. While
/// AddressSanitizer watches, the thread keeps that pool, so all its calls go to the library, which knows of the sanitizer. Initial-exec
/// uses 16 bytes of static thread storage in all, which glibc's reserve also grants to a library that is loaded late. That saves each
/// allocation a call of __tls_get_addr.
extern constinit thread_local pool* current_pool __attribute__((tls_model("initial-exec")));

// always_inline, because in a large program a compiler would call these in the library, which doubles their time.
[[gnu::always_inline]] inline block* pool::take(std::size_t size_class) {
  pool& mine = *current_pool;
  if (block* const b = mine.pop(size_class)) [[likely]] {
    b->stamp = mine.stamp(in_use);
    return b;
  }
  return take_slowly(size_class);
}

[[gnu::always_inline]] inline void pool::give(block* b) noexcept {
  pool& mine = *current_pool;
  if (b->stamp == mine.accepts.load(std::memory_order_relaxed)) [[likely]] {
    b->stamp = mine.stamp(block_state::available);
    return mine.push(b);
  }
  if (b->stamp == mine.returns) return mine.returned->add(b);
  give_slowly(b);
}

}  // namespace corescale::detail
