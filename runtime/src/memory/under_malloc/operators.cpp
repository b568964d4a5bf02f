// SPDX-License-Identifier: Apache-2.0
// C++'s operators. A program may replace only `new` and `delete`, so the other operators call these, as those of the C++ library do. All
// are here: an operator of another allocator that the program is linked with would get our blocks.
#include <dlfcn.h>
#include <stdint.h>

#include <atomic>
#include <bit>
#include <cstddef>
#include <new>

#include "heap.hpp"

#define CORESCALE_ENTRY [[gnu::visibility("default")]]

namespace {

using namespace corescale::process_heap;  // NOLINT
using std::align_val_t, std::nothrow_t, std::size_t;
using handler = void (*)();

/// A function of the C++ library, which this library does not need, but which a program that calls these operators has. It is found by
/// name, because it may have come with an extension that was loaded late.
template <class Function>
Function of_cxx(const char* name) noexcept {
  void* found = dlsym(RTLD_DEFAULT, name);
  if (!found)
    if (void* const library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD)) found = dlsym(library, name);
  return reinterpret_cast<Function>(found);
}

handler new_handler() noexcept {
  const auto get = of_cxx<handler (*)()>("_ZSt15get_new_handlerv");
  return get ? get() : nullptr;
}

/// [new.delete.single]: the handler makes room, throws or ends the process; without one, std::bad_alloc.
template <class Take>
void* take_or_handle(size_t bytes, Take try_to_take) {
  while (true) {
    if (void* const memory = try_to_take()) return memory;
    if (const handler handle = new_handler()) {
      handle();
      continue;
    }
    if (const auto bad_alloc = of_cxx<handler>("_ZSt17__throw_bad_allocv")) bad_alloc();
    die("operator new has no memory, and the program no std::bad_alloc to throw, for a size of",
        reinterpret_cast<void*>(bytes));
  }
}

void* take_if_possible(size_t bytes, size_t alignment) noexcept {
  return std::has_single_bit(alignment) ? take_aligned(bytes, alignment) : nullptr;
}

}  // namespace

CORESCALE_ENTRY void* operator new(size_t bytes) {
  void* const memory = take_at_hand(bytes);
  return memory ? memory : take_or_handle(bytes, [=] { return take(bytes); });
}
CORESCALE_ENTRY void* operator new(size_t bytes, align_val_t alignment) {
  return take_or_handle(bytes, [=] { return take_if_possible(bytes, static_cast<size_t>(alignment)); });
}

#ifndef __clang__  // clang has no such warning
#pragma GCC diagnostic ignored "-Wsized-deallocation"
#endif
CORESCALE_ENTRY void operator delete(void* memory) noexcept { give(memory); }

CORESCALE_ENTRY void operator delete(void* memory, align_val_t) noexcept { give(memory); }

// The others.
CORESCALE_ENTRY void* operator new[](size_t bytes) { return ::operator new(bytes); }
CORESCALE_ENTRY void* operator new[](size_t bytes, align_val_t to) { return ::operator new(bytes, to); }
CORESCALE_ENTRY void operator delete(void* memory, size_t) noexcept { ::operator delete(memory); }
CORESCALE_ENTRY void operator delete(void* memory, size_t, align_val_t to) noexcept {
  ::operator delete(memory, to);
}
CORESCALE_ENTRY void operator delete(void* memory, const nothrow_t&) noexcept { ::operator delete(memory); }
CORESCALE_ENTRY void operator delete(void* memory, align_val_t to, const nothrow_t&) noexcept {
  ::operator delete(memory, to);
}
CORESCALE_ENTRY void operator delete[](void* memory) noexcept { ::operator delete(memory); }
CORESCALE_ENTRY void operator delete[](void* memory, align_val_t to) noexcept {
  ::operator delete(memory, to);
}
CORESCALE_ENTRY void operator delete[](void* memory, size_t) noexcept { ::operator delete[](memory); }
CORESCALE_ENTRY void operator delete[](void* memory, size_t, align_val_t to) noexcept {
  ::operator delete[](memory, to);
}
CORESCALE_ENTRY void operator delete[](void* memory, const nothrow_t&) noexcept {
  ::operator delete[](memory);
}
CORESCALE_ENTRY void operator delete[](void* memory, align_val_t to, const nothrow_t&) noexcept {
  ::operator delete[](memory, to);
}

namespace {

/// The nothrow operator of the C++ library, or null. It catches what the throwing one throws; to catch it here, this library would need the
/// C++ library.
template <class... What>
auto catching(std::atomic<void* (*)(What...)>& found, const char* name) noexcept {
  auto next = found.load(std::memory_order_relaxed);
  if (!next) {
    void* const library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD);
    next = reinterpret_cast<void* (*)(What...)>(dlsym(library ? library : RTLD_NEXT, name));
    found.store(next, std::memory_order_relaxed);
  }
  return next;
}

constinit std::atomic<void* (*)(size_t, const nothrow_t&)> try_new{nullptr};
constinit std::atomic<void* (*)(size_t, align_val_t, const nothrow_t&)> try_aligned_new{nullptr};

// The operators of this file, even if the program has its own.
extern "C" {
[[gnu::alias("_Znwm"), gnu::visibility("hidden"), gnu::malloc, gnu::alloc_size(1)]] void* corescale_new(
    size_t bytes);
[[gnu::alias("_ZnwmSt11align_val_t"), gnu::visibility("hidden"), gnu::malloc, gnu::alloc_size(1)]] void*
corescale_aligned_new(size_t bytes, align_val_t to);
}

/// Whether two functions are one. Compared at run time, because only the loader knows which of two functions with the same name is in use.
template <class Function>
bool is_same(Function* in_use, Function* ours) noexcept {
  asm("" : "+r"(in_use), "+r"(ours));
  return in_use == ours;
}

}  // namespace

// A search by name waits for a thread that is in dlopen(), and a library's constructor may wait for us. So memory at hand is given without
// a search.
CORESCALE_ENTRY void* operator new(size_t bytes, const nothrow_t& tag) noexcept {
  if (is_same<void*(size_t)>(::operator new, corescale_new))
    if (void* const memory = take(bytes)) return memory;
  const auto next = catching(try_new, "_ZnwmRKSt9nothrow_t");
  return next ? next(bytes, tag) : ::operator new(bytes);
}
CORESCALE_ENTRY void* operator new(size_t bytes, align_val_t to, const nothrow_t& tag) noexcept {
  if (is_same<void*(size_t, align_val_t)>(::operator new, corescale_aligned_new))
    if (void* const memory = take_if_possible(bytes, static_cast<size_t>(to))) return memory;
  const auto next = catching(try_aligned_new, "_ZnwmSt11align_val_tRKSt9nothrow_t");
  return next ? next(bytes, to, tag) : ::operator new(bytes, to);
}
CORESCALE_ENTRY void* operator new[](size_t bytes, const nothrow_t& tag) noexcept {
  return ::operator new(bytes, tag);
}
CORESCALE_ENTRY void* operator new[](size_t bytes, align_val_t to, const nothrow_t& tag) noexcept {
  return ::operator new(bytes, to, tag);
}
