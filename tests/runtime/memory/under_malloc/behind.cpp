// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

/// Registers a handler of fork() by glibc's function: RTLD_NEXT is what comes after this library, and malloc()'s comes before it.
extern "C" int register_by_glibc(void (*prepare)()) {
  using registers = int (*)(void (*)(), void (*)(), void (*)(), void*);
  const auto next = reinterpret_cast<registers>(dlsym(RTLD_NEXT, "__register_atfork"));
  return next ? next(prepare, nullptr, nullptr, nullptr) : -1;
}
