// SPDX-License-Identifier: Apache-2.0
#include "profiler/next.hpp"

#include <link.h>
#include <string.h>

#include "profiler/profiler.hpp"

namespace corescale::profiler {
namespace {

const link_map* first_object = nullptr;
const link_map* last_object = nullptr;  // the last of the objects that the program began with

std::atomic<std::uintptr_t> unloadings;

bool began_with(const link_map* object) {
  for (const link_map* one = first_object; one; one = one->l_next) {
    if (one == object) return true;
    if (one == last_object) return false;
  }
  return false;
}

void* in_object(const char* path, const char* name) {
  void* const library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  if (!library) return nullptr;
  void* const found = dlsym(library, name);
  next<int(void*)>("dlclose")(library);  // the caller keeps its own reference
  return found;
}

struct Object {
  int left;  // how many objects are still to be skipped
  char path[4096];
};

int copy_path(dl_phdr_info* object, std::size_t, void* given) {
  auto& wanted = *static_cast<Object*>(given);
  if (wanted.left-- > 0) return 0;
  stpncpy(wanted.path, object->dlpi_name, sizeof wanted.path - 1);
  return 1;
}

// For objects that do not name the library that they need, because the object that loads them does.
void* in_any_object(const char* name) {
  const link_map* const own = object_of(reinterpret_cast<const void*>(in_any_object));
  Object object = {};
  // Libraries are opened outside the walk, which holds a lock that opening takes last.
  for (int place = 0; object.left = place, dl_iterate_phdr(copy_path, &object) != 0; ++place) {
    if (!object.path[0] || (own && !strcmp(object.path, own->l_name))) continue;
    if (void* const found = in_object(object.path, name)) return found;
  }
  dlerror();
  return nullptr;
}

}  // namespace

const link_map* object_of(const void* code) {
#if __GLIBC_PREREQ(2, 35)
  dl_find_object found;
  return _dl_find_object(const_cast<void*>(code), &found) == 0 ? found.dlfo_link_map : nullptr;
#else
  Dl_info unused;
  void* found = nullptr;
  return dladdr1(code, &unused, &found, RTLD_DL_LINKMAP) ? static_cast<link_map*>(found) : nullptr;
#endif
}

void note_first_objects() {
  const link_map* one = object_of(reinterpret_cast<const void*>(note_first_objects));
  while (one && one->l_prev) one = one->l_prev;
  first_object = one;
  while (one && one->l_next) one = one->l_next;
  last_object = one;
}

void* Symbol::looked_up(const char* object, bool all_see) {
  void* found = all_see && version_ ? dlvsym(RTLD_NEXT, name_, version_) : nullptr;
  if (!found && all_see) found = dlsym(RTLD_NEXT, name_);
  if (!found && object && *object) found = in_object(object, name_);
  if (!found) dlerror();  // the program must see only its own errors
  return found;
}

void* Symbol::kept_for(const link_map* object, bool all_see) {
  // Addresses of objects are multiples of 8 below 2^48.
  const std::uintptr_t key =
      (reinterpret_cast<std::uintptr_t>(object) << 13) | (unloadings.load() & 0xffff) | 1;
  for (Entry& entry : entry_) {
    if (entry.object.load(std::memory_order_acquire) != key) continue;
    void* const function = entry.function.load(std::memory_order_acquire);
    if (entry.object.load(std::memory_order_relaxed) == key) return function;
  }
  void* const found = looked_up(object ? object->l_name : nullptr, all_see);
  if (found && all_see && began_with(object_of(found)))
    everyones_.store(found, std::memory_order_release);
  else
    keep(key, found);
  return found;
}

void* Symbol::found_for(const void* caller, bool all_see) {
  const OwnMemory memory;
  // If a region's body ends with a tail call, the call seems to come from this library, which called the
  // body.
  const link_map* const object = object_of(caller);
  const bool is_own = object && object == object_of(reinterpret_cast<const void*>(in_any_object));
  void* found = is_own ? dlsym(RTLD_NEXT, name_) : kept_for(object, all_see);
  if (!found && all_see && local.runtime) found = kept_for(object_of(local.runtime), true);
  return found || !all_see ? found : in_any_object(name_);
}

void Symbol::keep(std::uintptr_t object, void* function) {
  if (writing_.exchange(true)) return;  // another thread stores its answer; this one will search again
  static std::atomic<std::size_t> last;
  Entry& entry = entry_[++last % most_objects];
  entry.object.store(0, std::memory_order_release);
  entry.function.store(function, std::memory_order_release);
  entry.object.store(object, std::memory_order_release);
  writing_.store(false);
}

}  // namespace corescale::profiler

// Another object may be loaded at the address of one that was unloaded.
CORESCALE_EXPORT int dlclose(void* library) {
  REAL(dlclose, int(void*));
  if (corescale::profiler::live()) corescale::profiler::read_modules();
  corescale::profiler::unloadings.fetch_add(2);
  const int result = real_dlclose(library);
  corescale::profiler::unloadings.fetch_add(2);
  corescale::profiler::forget_ranges();
  return result;
}
