// SPDX-License-Identifier: Apache-2.0
// The makers of systems that are libraries of their own beside this one, loaded at the first call and never unloaded.
#include <dlfcn.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <system_error>

#include "systems.hpp"

namespace corescale::inline v0::systems::loaded {
namespace {

using door = void(any_team& made, std::size_t num_threads, const team_options& options);

const char here = 0;

/// The folder of this library; empty, so that the usual places are searched, where the loader does not know.
const std::filesystem::path& own_folder() {
  static const std::filesystem::path folder = [] {
    Dl_info own{};
    std::error_code unknown;
    return dladdr(&here, &own) ? std::filesystem::absolute(own.dli_fname, unknown).parent_path()
                               : std::filesystem::path();
  }();
  return folder;
}
// At load: the loader may know the library by a relative name, which a later chdir() would make wrong.
[[maybe_unused]] const std::filesystem::path& known_at_load = own_folder();

/// Null when the library or one that it needs is not there.
door* open_door(const char* system) {
  const auto path = own_folder() / (std::string("libcorescale_team_") + system + CORESCALE_MODULE_SUFFIX);
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  return library ? reinterpret_cast<door*>(dlsym(library, "corescale_make_team")) : nullptr;
}

any_team make(std::atomic<door*>& known, const char* system, std::size_t num_threads,
              const team_options& options) {
  door* call = known.load(std::memory_order_acquire);
  if (!call) known.store(call = open_door(system), std::memory_order_release);
  any_team made;
  if (call) call(made, num_threads, options);
  return made;
}

}  // namespace

any_team make_openmp(std::size_t num_threads, const team_options& options) {
  static std::atomic<door*> known{nullptr};
  return make(known, "openmp", num_threads, options);
}

any_team make_boost(std::size_t num_threads, const team_options& options) {
  static std::atomic<door*> known{nullptr};
  return make(known, "boost", num_threads, options);
}

any_team make_boost_barrier(std::size_t num_threads, const team_options& options) {
  static std::atomic<door*> known{nullptr};
  return make(known, "boost_barrier", num_threads, options);
}

any_team make_tbb(std::size_t num_threads, const team_options& options) {
  static std::atomic<door*> known{nullptr};
  return make(known, "tbb", num_threads, options);
}

}  // namespace corescale::systems::loaded
