// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>

#include <new>

namespace {

void* ask(void*) {
  pthread_atfork(nullptr, nullptr, nullptr);
  constexpr std::align_val_t line{64};
  ::operator delete(::operator new(100));
  ::operator delete(::operator new(100, line), line);
  ::operator delete(::operator new(100, std::nothrow), std::nothrow);
  ::operator delete(::operator new(100, line, std::nothrow), line, std::nothrow);
  return nullptr;
}

[[gnu::constructor]] void wait_for_thread() {
  pthread_t thread{};
  if (pthread_create(&thread, nullptr, ask, nullptr) == 0) pthread_join(thread, nullptr);
}

}  // namespace
