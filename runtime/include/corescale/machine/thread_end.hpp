// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>

#include <new>
#include <system_error>

namespace corescale::inline v0::detail {

/// A function that is called at the end of each thread that asked for it.
/// A key and not a thread_local object: it comes after the destructors of all of those, and again where one asks even later.
class thread_end {
 public:
  /// Throws std::system_error where the process has no key left.
  explicit thread_end(void (*function)(void*)) {
    if (const int failed = pthread_key_create(&key_, function))
      throw std::system_error(failed, std::generic_category(), "corescale: a key for the end of threads");
  }
  ~thread_end() { pthread_key_delete(key_); }
  thread_end(const thread_end&) = delete;
  thread_end& operator=(const thread_end&) = delete;

  /// At the calling thread's end the function gets `what`, which is not null.
  /// Throws std::bad_alloc.
  void await(const void* what) const {
    if (pthread_setspecific(key_, what)) throw std::bad_alloc();
  }

  /// What the calling thread's end will give; null for nothing.
  void* awaited() const noexcept { return pthread_getspecific(key_); }

 private:
  pthread_key_t key_{};
};

}  // namespace corescale::detail
