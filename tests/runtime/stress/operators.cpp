// SPDX-License-Identifier: Apache-2.0
// C++'s operators over the parts of malloc(): under a program that is built with a sanitizer, which has a malloc() of its own.
#include <new>

#include "../../../runtime/src/memory/under_malloc/heap.hpp"

namespace {

using namespace corescale::process_heap;

void* take_or_throw(std::size_t bytes, std::size_t alignment = 16) {
  if (void* const memory = take_aligned(bytes, alignment)) return memory;
  throw std::bad_alloc();
}

}  // namespace

using std::align_val_t, std::nothrow_t, std::size_t;

void* operator new(size_t bytes) { return take_or_throw(bytes); }
void* operator new[](size_t bytes) { return take_or_throw(bytes); }
void* operator new(size_t bytes, align_val_t a) { return take_or_throw(bytes, size_t(a)); }
void* operator new[](size_t bytes, align_val_t a) { return take_or_throw(bytes, size_t(a)); }
void* operator new(size_t bytes, const nothrow_t&) noexcept { return take(bytes); }
void* operator new[](size_t bytes, const nothrow_t&) noexcept { return take(bytes); }
void* operator new(size_t bytes, align_val_t a, const nothrow_t&) noexcept {
  return take_aligned(bytes, size_t(a));
}
void* operator new[](size_t bytes, align_val_t a, const nothrow_t&) noexcept {
  return take_aligned(bytes, size_t(a));
}
void operator delete(void* memory) noexcept { give(memory); }
void operator delete[](void* memory) noexcept { give(memory); }
void operator delete(void* memory, size_t) noexcept { give(memory); }
void operator delete[](void* memory, size_t) noexcept { give(memory); }
void operator delete(void* memory, align_val_t) noexcept { give(memory); }
void operator delete[](void* memory, align_val_t) noexcept { give(memory); }
void operator delete(void* memory, size_t, align_val_t) noexcept { give(memory); }
void operator delete[](void* memory, size_t, align_val_t) noexcept { give(memory); }
void operator delete(void* memory, const nothrow_t&) noexcept { give(memory); }
void operator delete[](void* memory, const nothrow_t&) noexcept { give(memory); }
void operator delete(void* memory, align_val_t, const nothrow_t&) noexcept { give(memory); }
void operator delete[](void* memory, align_val_t, const nothrow_t&) noexcept { give(memory); }
