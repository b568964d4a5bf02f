// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <new>

namespace corescale::inline v0::detail {

/// Calls a function at the end of each thread that asked for it. Objects of this type have static storage, and live for ever.
/// It uses a pthread key and not a thread_local object: a key's function runs after the destructors of all thread_local objects, and runs
/// again if await() is called even later. The first caller makes the key. That takes no lock, which a child of fork() might find held, and
/// no memory, which a program's operator new may take from here.
class thread_end {
 public:
  constexpr explicit thread_end(void (*function)(void*)) noexcept : function_(function) {}
  thread_end(const thread_end&) = delete;
  thread_end& operator=(const thread_end&) = delete;

  /// At the calling thread's end the function is called with `what`, which must not be null.
  /// Throws std::bad_alloc, also if the process has no key left: an error with a text would need memory.
  void await(const void* what) {
    if (pthread_setspecific(key(), what)) throw std::bad_alloc();
  }

  /// The argument for the function at the calling thread's end; null if it will not be called.
  /// Throws std::bad_alloc if the process has no key left.
  void* awaited() { return pthread_getspecific(key()); }

 private:
  pthread_key_t key() {
    if (const std::uint64_t known = key_and_one_.load(std::memory_order_acquire))
      return static_cast<pthread_key_t>(known - 1);
    pthread_key_t made{};
    if (pthread_key_create(&made, function_)) throw std::bad_alloc();
    std::uint64_t first = 0;
    if (key_and_one_.compare_exchange_strong(first, std::uint64_t{made} + 1, std::memory_order_acq_rel))
      return made;
    pthread_key_delete(made);
    return static_cast<pthread_key_t>(first - 1);
  }

  void (*function_)(void*);
  std::atomic<std::uint64_t> key_and_one_{0};  // 0 until the key is made
};

}  // namespace corescale::detail
