// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "sizes.hpp"

/// The layer below malloc(): the kernel's memory, a clock, locks that survive fork(), and the line that ends a process.
/// Nothing here asks for memory by malloc(), or needs the C++ library, so that C programs need not load it.
namespace corescale::inline v0::process_heap {

/// Readable and writable memory of zeros; null if the kernel gives none.
void* map(std::size_t bytes) noexcept;
void* map_aligned(std::size_t bytes, std::size_t alignment) noexcept;
/// If the kernel refuses, the place stays mapped and the memory is purged.
void unmap(void* memory, std::size_t bytes) noexcept;

/// madvise() with a wish that the kernel need not grant. Leaves errno alone.
void advise(void* memory, std::size_t bytes, int advice) noexcept;

/// Gives the memory back to the kernel; it reads as zero afterwards.
void purge(void* memory, std::size_t bytes) noexcept;

/// How a program is kept out of a page: not at all, by the kernel's guards (since Linux 6.13), or by the access rights of a separate
/// mapping.
enum class guard : std::uint8_t { none, installed, by_rights };

/// Guards a page after a block. At most 16,384 guards use rights: each splits a mapping in two, and
/// the kernel allows a process 65,530 mappings. Further guards are `none`, as are those of kernels whose
/// pages are larger than 4 KiB.
guard protect(void* page) noexcept;
void unprotect(void* page, guard by) noexcept;

/// Milliseconds of a clock that costs a few nanoseconds to read and is a few milliseconds late.
std::uint64_t now_ms() noexcept;

std::uint64_t random_word() noexcept;

/// Writes to standard error, but not by write(): a thread may be cancelled there, with a lock held.
void say(const char* text, int length) noexcept;

/// Writes one line to standard error, then calls abort().
[[noreturn]] void die(const char* what, const void* where) noexcept;

/// Set in the thread that is in fork(). It holds all locks then, so handlers of fork() that run after ours may allocate.
extern constinit thread_local bool in_fork __attribute__((tls_model("initial-exec")));

class lock {
 public:
  void take() noexcept {
    if (!in_fork) pthread_mutex_lock(&mutex_);
  }
  void leave() noexcept {
    if (!in_fork) pthread_mutex_unlock(&mutex_);
  }

 private:
  pthread_mutex_t mutex_ = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
};

class locked {
 public:
  explicit locked(lock& which) noexcept : lock_(which) { lock_.take(); }
  ~locked() { lock_.leave(); }
  locked(const locked&) = delete;
  locked& operator=(const locked&) = delete;

 private:
  lock& lock_;
};

/// By default, the kernel's own setting decides about huge pages. They are not asked for: pages are carved little by little, and the end of
/// a run may stay untouched, but a huge page would put all of that into memory.
enum class huge_pages : unsigned char { as_set, asked, refused };

/// The options that CORESCALE_MALLOC sets.
struct options {
  bool show_stats = false;
  bool hardened = false;
  process_heap::huge_pages huge_pages = huge_pages::as_set;
  std::uint64_t decay_ms = 1000;  ///< time after which free memory goes back to the kernel
};
extern constinit options chosen;

/// The bytes of the guard after a page or a large block.
inline std::size_t guard_bytes() noexcept { return chosen.hardened ? system_page : 0; }

/// Reads a value of CORESCALE_MALLOC, which is words separated by commas. Unknown words are ignored; one line names the first of them.
void read_options(const char* words) noexcept;

/// Reads CORESCALE_MALLOC once, at the first request after the C library has the environment. That may be before our constructor.
void read_environment() noexcept;

/// The least memory limit of this process's control groups (cgroup v1 or v2); SIZE_MAX if there is none. `root` is the folder of /sys and
/// /proc, "" except in tests.
std::size_t memory_limit(const char* root) noexcept;

/// Reads the limit for most_free(). Called at the start, because a sandbox may kill a process that opens a file later.
void read_memory_limit() noexcept;

/// How many free bytes may be kept for reuse: 64 MiB, or `share` if that is more, but at most a sixteenth of the memory limit.
std::size_t most_free(std::size_t share) noexcept;

/// Bytes, for show_stats and mallinfo2().
struct account {
  std::atomic<std::size_t> mapped{0}, most_mapped{0}, purged{0};
  void add(std::size_t bytes) noexcept;
  void subtract(std::size_t bytes) noexcept { mapped.fetch_sub(bytes, std::memory_order_relaxed); }
};
extern constinit account of_system;

}  // namespace corescale::process_heap
