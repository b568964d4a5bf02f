// SPDX-License-Identifier: Apache-2.0
// Finds the function that a call would reach without the profiler. Two plug-ins may each bring a library with the same function, such as
// two OpenMP runtimes, so the answer depends on the caller's object and is cached for each object.
#pragma once
#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace corescale::profiler {

class Symbol {
 public:
  // `version` is needed if the unversioned name would give an older function.
  constexpr explicit Symbol(const char* name, const char* version = nullptr)
      : name_(name), version_(version) {}

  // The function that a call from `caller` would reach; null if there is none. The order of search is the loader's: libraries that all
  // objects see, libraries of the caller's object, the runtime of the thread's parallel region.
  void* reached_from(const void* caller) {
    void* const found = everyones_.load(std::memory_order_acquire);
    return __builtin_expect(found != nullptr, 1) ? found : found_for(caller, true);
  }

  // The function of this name in the library that has `code`, or in a library that it needs.
  void* beside(const void* code) { return found_for(code, false); }

 private:
  struct Entry {
    std::atomic<std::uintptr_t> object;  // combined with the number of unloadings that were seen; 0: free
    std::atomic<void*> function;
  };
  static constexpr std::size_t most_objects = 16;

  void* found_for(const void* caller, bool all_see);
  void* kept_for(const link_map* object, bool all_see);
  void* looked_up(const char* object, bool all_see);
  void keep(std::uintptr_t object, void* function);

  const char* name_;
  const char* version_;
  std::atomic<void*> everyones_{nullptr};  // the function of a library that was there when the program began
  std::atomic<bool> writing_{false};
  Entry entry_[most_objects]{};
};

// The same, with the function's type.
template <class Function>
class Next : Symbol {
 public:
  using Symbol::Symbol;
  Function* reached_from(const void* caller) {
    return reinterpret_cast<Function*>(Symbol::reached_from(caller));
  }
  Function* beside(const void* code) { return reinterpret_cast<Function*>(Symbol::beside(code)); }
};

// The library or program that contains `code`; null if there is none.
const link_map* object_of(const void* code);

// Records the libraries that all objects of the program see from its start.
void note_first_objects();

}  // namespace corescale::profiler

// real_NAME is what a call from the code or data at `from` would have reached.
#define REAL_FROM(from, name, ...)                                            \
  static constinit corescale::profiler::Next<__VA_ARGS__> next_##name(#name); \
  auto* const real_##name = next_##name.reached_from(from)
// The same, for the caller of an exported function. Of a function with several versions, the name without a version is the oldest.
#define REAL_NEW(name, version, ...)                                                   \
  static constinit corescale::profiler::Next<__VA_ARGS__> next_##name(#name, version); \
  auto* const real_##name = next_##name.reached_from(__builtin_return_address(0))
#define REAL(name, ...) REAL_FROM(__builtin_return_address(0), name, __VA_ARGS__)
