// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

namespace {

void* write_to_free(void*) {
  auto* volatile memory = static_cast<volatile char*>(malloc(100));
  free(const_cast<char*>(memory));
  memory[40] = 1;
  return nullptr;
}

/// Before the constructors of malloc(), because this library is loaded after it and does not need it.
[[gnu::constructor]] void begin(int, char** argv, char**) {
  if (!argv[1] || strcmp(argv[1], "use_after_free_by_early_thread")) return;
  signal(SIGABRT, [](int) { _exit(3); });  // as the program does
  pthread_t thread{};
  if (pthread_create(&thread, nullptr, write_to_free, nullptr) == 0) pthread_join(thread, nullptr);
  _exit(0);
}

}  // namespace

/// Registers a handler of fork() by glibc's function: RTLD_NEXT is what comes after this library, and malloc()'s comes before it.
extern "C" int register_by_glibc(void (*prepare)()) {
  using registers = int (*)(void (*)(), void (*)(), void (*)(), void*);
  const auto next = reinterpret_cast<registers>(dlsym(RTLD_NEXT, "__register_atfork"));
  return next ? next(prepare, nullptr, nullptr, nullptr) : -1;
}
