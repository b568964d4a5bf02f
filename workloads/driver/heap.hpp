// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <new>
#include <system_error>
#include <utility>

namespace driver {

/// What a heap counted in one thread, or in several together.
struct Account {
  std::uint64_t allocations = 0, bytes = 0;
  std::uint64_t at_work = 0;  ///< samples while the thread worked, not while it waited for others
  std::uint64_t in_heap = 0;  ///< the samples within operator new or delete
  std::uint64_t freed = 0, freed_elsewhere = 0;  ///< blocks; those that another thread had asked for

  double share() const { return static_cast<double>(in_heap) / static_cast<double>(at_work); }

  Account& operator+=(const Account& other) {
    allocations += other.allocations;
    bytes += other.bytes;
    at_work += other.at_work;
    in_heap += other.in_heap;
    freed += other.freed;
    freed_elsewhere += other.freed_elsewhere;
    return *this;
  }
};

/// Sized deallocation if the compiler has it, as in std::allocator.
inline void give_back(void* block, [[maybe_unused]] std::size_t bytes) noexcept {
#ifdef __cpp_sized_deallocation
  ::operator delete(block, bytes);
#else
  ::operator delete(block);
#endif
}

/// Exactly what std::allocator does; keeps no account.
struct PlainHeap {
  static void* allocate(std::size_t bytes) { return ::operator new(bytes); }
  static void deallocate(void* block, std::size_t bytes) noexcept { give_back(block, bytes); }
  static void start() noexcept {}
  static void work(bool /*working*/) noexcept {}
  static Account stop() noexcept { return {}; }
};

/// PlainHeap with an account per thread. A timer interrupts each thread every `period` and counts what the thread is doing, as a sampling
/// profiler does. For this, each call leaves two marks in memory, which takes about 1 ns.
class SampledHeap {
 public:
  static constexpr long period_ns = 500'000;

  static void* allocate(std::size_t bytes) {
    Thread& mine = thread();
    ++mine.account.allocations;
    mine.account.bytes += bytes;
    const Within within(mine);
    return ::operator new(bytes);
  }

  static void deallocate(void* block, std::size_t bytes) noexcept {
    const Within within(thread());
    give_back(block, bytes);
  }

  /// This thread's account from zero on. Throws std::system_error if the system has no timer left.
  static void start();

  /// Whether the thread works now, or waits.
  static void work(bool working) noexcept { thread().working = working; }

  /// Ends this thread's account.
  static Account stop();

 private:
  struct Thread {
    Account account;  // its samples are written by the signal handler
    volatile std::sig_atomic_t working = 0, within = 0;
    timer_t timer{};
    bool running = false;
  };

  class Within {
   public:
    explicit Within(Thread& thread) : thread_(thread) { thread_.within = 1; }
    Within(const Within&) = delete;
    Within& operator=(const Within&) = delete;
    ~Within() { thread_.within = 0; }

   private:
    Thread& thread_;
  };

  static void sample(int /*signal*/) {
    Thread& mine = thread();
    if (!mine.running || mine.working == 0) return;
    ++mine.account.at_work;
    if (mine.within != 0) ++mine.account.in_heap;
  }

  static Thread& thread() noexcept {
    thread_local constinit Thread mine;
    return mine;
  }
};

inline void SampledHeap::start() {
  Thread& mine = thread();
  struct sigaction action {};
  action.sa_handler = sample;
  action.sa_flags = SA_RESTART;
  sigaction(SIGPROF, &action, nullptr);
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = SIGPROF;
  event._sigev_un._tid = gettid();
  if (timer_create(CLOCK_MONOTONIC, &event, &mine.timer) != 0)
    throw std::system_error(errno, std::generic_category(), "--account needs a timer per thread");
  mine.account = {};
  mine.running = true;
  const itimerspec every{{0, period_ns}, {0, period_ns}};
  timer_settime(mine.timer, 0, &every, nullptr);
}

inline Account SampledHeap::stop() {
  Thread& mine = thread();
  if (!std::exchange(mine.running, false)) return {};
  timer_delete(mine.timer);
  return mine.account;
}

/// std::allocator by way of Heap.
template <class T, class Heap>
struct Allocator {
  using value_type = T;

  Allocator() = default;
  template <class U>
  Allocator(const Allocator<U, Heap>& /*other*/) noexcept {}  // NOLINT(google-explicit-constructor)

  // NOLINTBEGIN(bugprone-sizeof-expression): a hash table's buckets are pointers
  T* allocate(std::size_t n) { return static_cast<T*>(Heap::allocate(n * sizeof(T))); }
  void deallocate(T* block, std::size_t n) noexcept { Heap::deallocate(block, n * sizeof(T)); }
  // NOLINTEND(bugprone-sizeof-expression)

  friend bool operator==(const Allocator& /*a*/, const Allocator& /*b*/) noexcept { return true; }
};

}  // namespace driver
