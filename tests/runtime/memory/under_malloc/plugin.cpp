// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>

namespace {

void* register_handlers(void*) {
  pthread_atfork(nullptr, nullptr, nullptr);
  return nullptr;
}

[[gnu::constructor]] void wait_for_thread() {
  pthread_t thread{};
  if (pthread_create(&thread, nullptr, register_handlers, nullptr) == 0) pthread_join(thread, nullptr);
}

}  // namespace
