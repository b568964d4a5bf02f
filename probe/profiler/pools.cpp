// SPDX-License-Identifier: Apache-2.0
// Finds the owner of a thread. OpenMP and task runtimes start workers, which wait by the same calls as programs do.
#include <link.h>
#include <string.h>

#include <initializer_list>

#include "profiler/profiler.hpp"

namespace corescale::profiler {
namespace {

// The code of a runtime of tasks; empty until such a runtime has started a thread.
std::atomic<std::uintptr_t> tasks_begin, tasks_end;

bool is_named(const char* path, std::initializer_list<const char*> names) {
  const char* const slash = strrchr(path, '/');
  for (const char* name : names)
    if (!strncmp(slash ? slash + 1 : path, name, strlen(name))) return true;
  return false;
}

int remember(dl_phdr_info* object, std::size_t, void* given) {
  const auto function = reinterpret_cast<std::uintptr_t>(given);
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object->dlpi_phdr[i];
    const std::uintptr_t begin = object->dlpi_addr + part.p_vaddr;
    if (part.p_type != PT_LOAD || function < begin || function >= begin + part.p_memsz) continue;
    tasks_begin = begin;
    tasks_end = begin + part.p_memsz;
    return 1;
  }
  return 0;
}

}  // namespace

std::uint32_t runtime_of(const void* function) {
  Dl_info object;
  if (!dladdr(function, &object) || !object.dli_fname) return no_pool;
  if (is_named(object.dli_fname, {"libgomp", "libomp", "libiomp"})) return openmp_pool;
  if (!is_named(object.dli_fname, {"libtbb"})) return no_pool;
  if (!tasks_end) dl_iterate_phdr(remember, const_cast<void*>(function));
  return task_pool;
}

bool of_tasks(const void* code) {
  const auto place = reinterpret_cast<std::uintptr_t>(code);
  return place >= tasks_begin && place < tasks_end;
}

}  // namespace corescale::profiler
