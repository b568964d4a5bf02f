// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>

#include <cstddef>
#include <memory>
#include <system_error>

namespace corescale::inline v0::detail {

/// A thread whose stack size can be chosen, unlike that of std::thread. Its destructor does not join it.
class posix_thread {
 public:
  /// stack_bytes 0: the system's default.
  /// Throws std::system_error if no thread, or no stack of that size, can be had; and std::bad_alloc.
  template <class Function>
  posix_thread(Function function, std::size_t stack_bytes) {
    auto body = std::make_unique<Function>(function);
    const attributes with(stack_bytes);
    const int failed = pthread_create(&thread_, with.get(), run<Function>, body.get());
    if (failed) throw std::system_error(failed, std::generic_category(), "corescale: a team's thread");
    static_cast<void>(body.release());
  }

  void join() { pthread_join(thread_, nullptr); }

 private:
  class attributes {
   public:
    explicit attributes(std::size_t stack_bytes) {
      pthread_attr_init(&attributes_);
      const int failed = stack_bytes ? pthread_attr_setstacksize(&attributes_, stack_bytes) : 0;
      if (failed)
        throw std::system_error(failed, std::generic_category(), "corescale: the stack of a team's thread");
    }
    ~attributes() { pthread_attr_destroy(&attributes_); }
    attributes(const attributes&) = delete;
    attributes& operator=(const attributes&) = delete;
    const pthread_attr_t* get() const noexcept { return &attributes_; }

   private:
    pthread_attr_t attributes_{};
  };

  template <class Function>
  static void* run(void* body) {
    const std::unique_ptr<Function> owned(static_cast<Function*>(body));
    (*owned)();
    return nullptr;
  }

  pthread_t thread_{};
};

}  // namespace corescale::detail
