// SPDX-License-Identifier: Apache-2.0
// A program with functions of its own on corescale::malloc: malloc() and its kin call the C library's other names, and two
// of C++'s operators put a mark before each block. The operators that it does not have must use these two.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <new>
#include <vector>

namespace {

long calls = 0, made = 0, returned = 0, handled = 0;
constexpr std::uint64_t mark = 0x6d61726b;

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "own_functions: %s\n", what);
  std::_Exit(1);
}

template <class T>
T opaque(T value) {
  asm volatile("" : "+r"(value) : : "memory");
  return value;
}

struct with_destructor {
  long values[5];
  ~with_destructor() { values[0] = opaque(0L); }
};

}  // namespace

extern "C" {
// NOLINTBEGIN
void* __libc_malloc(size_t) noexcept;
void* __libc_calloc(size_t, size_t) noexcept;
void* __libc_realloc(void*, size_t) noexcept;
void __libc_free(void*) noexcept;
// NOLINTEND
void* malloc(size_t bytes) noexcept { return ++calls, __libc_malloc(bytes); }
void* calloc(size_t count, size_t size) noexcept { return ++calls, __libc_calloc(count, size); }
void* realloc(void* memory, size_t bytes) noexcept { return ++calls, __libc_realloc(memory, bytes); }
void free(void* memory) noexcept { __libc_free(memory); }
}

void* operator new(std::size_t bytes) {
  auto* const room = bytes > SIZE_MAX / 2 ? nullptr : static_cast<std::uint64_t*>(malloc(bytes + 16));
  if (!room) {
    ++handled;
    throw std::bad_alloc();
  }
  *room = mark;
  ++made;
  return room + 2;
}

void operator delete(void* memory) noexcept {
  if (!memory) return;
  auto* const room = static_cast<std::uint64_t*>(memory) - 2;
  require(*room == mark, "operator delete got what operator new did not give");
  ++returned;
  free(room);
}

int main() {
  alarm(60);  // a function that calls itself does not end
  free(opaque(realloc(opaque(malloc(100)), 1000)));
  free(opaque(realloc(nullptr, opaque(100UL))));
  free(opaque(calloc(10, 10)));
  free(opaque(strdup("strdup asks malloc")));
  require(calls >= 5, "its malloc() is not in use");

  delete opaque(new with_destructor);
  delete[] opaque(new with_destructor[3]);
  delete[] opaque(new char[100]);
  std::vector<int> grown;
  for (int k = 0; k < 1000; ++k) grown.push_back(k);
  grown = std::vector<int>();
  ::operator delete(opaque(::operator new(100, std::nothrow)), std::nothrow);
  ::operator delete[](opaque(::operator new[](100, std::nothrow)), std::nothrow);
  require(made >= 6 && made == returned, "its operators are not in use");
  require(!::operator new(opaque(SIZE_MAX), std::nothrow) && handled == 1, "nothrow new is not built on it");
}
