// SPDX-License-Identifier: Apache-2.0
#include "systems.hpp"

#include <algorithm>
#include <array>
#include <new>
#include <string>

#include "corescale/team/serial.hpp"
#include "corescale/team/spin.hpp"

#ifdef CORESCALE_MODULE_SUFFIX
#include <dlfcn.h>

#include <atomic>
#include <filesystem>
#include <system_error>
#endif

namespace corescale::inline v0 {
namespace {

// A system that needs a threading library is in its own library next to this one. It is loaded at the first call and never unloaded.
#ifdef CORESCALE_MODULE_SUFFIX
using door = void(any_team& made, std::size_t num_threads, const team_options& options);

const char here = 0;

/// The folder of this library. If the loader does not know it, empty, so that the usual places are searched.
const std::filesystem::path& own_folder() {
  static const std::filesystem::path folder = [] {
    Dl_info own{};
    std::error_code unknown;
    return dladdr(&here, &own) ? std::filesystem::absolute(own.dli_fname, unknown).parent_path()
                               : std::filesystem::path();
  }();
  return folder;
}
// Found when the library is loaded: the loader may know it by a relative name, which a later chdir() would make wrong.
[[maybe_unused]] const std::filesystem::path& known_at_load = own_folder();

/// Null if the library, or one that it needs, is missing.
door* open_door(const char* library, const char* system) {
  const auto path = own_folder() / (std::string("libcorescale_team_") + library + CORESCALE_MODULE_SUFFIX);
  void* const opened = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  const std::string entry_point = std::string("corescale_make_") + system;
  return opened ? reinterpret_cast<door*>(dlsym(opened, entry_point.c_str())) : nullptr;
}

template <const char* library, const char* system>
any_team make_loaded(std::size_t num_threads, const team_options& options) {
  static std::atomic<door*> known{nullptr};
  door* call = known.load(std::memory_order_acquire);
  if (!call) known.store(call = open_door(library, system), std::memory_order_release);
  any_team made;
  if (call) call(made, num_threads, options);
  return made;
}

[[maybe_unused]] constexpr char openmp[] = "openmp";
[[maybe_unused]] constexpr char boost[] = "boost";
[[maybe_unused]] constexpr char boost_barrier[] = "boost_barrier";
[[maybe_unused]] constexpr char tbb[] = "tbb";
#define CORESCALE_MAKER(library, name) make_loaded<library, name>
#else
#define CORESCALE_MAKER(library, name) systems::make_##name
#endif

#ifdef CORESCALE_HAS_OPENMP
#define CORESCALE_OPENMP CORESCALE_MAKER(openmp, openmp)
#else
#define CORESCALE_OPENMP nullptr
#endif
#ifdef CORESCALE_HAS_BOOST
#define CORESCALE_BOOST CORESCALE_MAKER(boost, boost)
#define CORESCALE_BOOST_BARRIER CORESCALE_MAKER(boost, boost_barrier)
#else
#define CORESCALE_BOOST nullptr
#define CORESCALE_BOOST_BARRIER nullptr
#endif
#ifdef CORESCALE_HAS_TBB
#define CORESCALE_TBB CORESCALE_MAKER(tbb, tbb)
#else
#define CORESCALE_TBB nullptr
#endif

template <team T>
any_team make(std::size_t num_threads, const team_options& options) {
  return any_team(T::create(num_threads, options));
}

constexpr std::array table{
    threading_system{"serial", "", make<serial_team>},
    threading_system{"openmp", "libgomp1 (g++) or libomp-dev (clang)", CORESCALE_OPENMP},
    threading_system{"pthread", "", systems::make_pthread},
    threading_system{"pthread_barrier", "", systems::make_pthread_barrier},
    threading_system{"boost", "libboost-thread-dev", CORESCALE_BOOST},
    threading_system{"boost_barrier", "libboost-thread-dev", CORESCALE_BOOST_BARRIER},
    threading_system{"tbb", "libtbb-dev", CORESCALE_TBB},
    threading_system{"ports", "", systems::make_ports},
    threading_system{"spin", "", make<spin_team>},
};

}  // namespace

std::span<const threading_system> threading_systems() noexcept { return table; }

const threading_system* find_threading_system(std::string_view name) noexcept {
  const auto row =
      std::find_if(table.begin(), table.end(), [name](const auto& one) { return one.name == name; });
  return row == table.end() ? nullptr : &*row;
}

any_team threading_system::create(std::size_t num_threads, const team_options& options) const {
  try {
    return is_present() ? maker(num_threads, options) : any_team();
  } catch (const std::bad_alloc&) {  // for the any_team itself
    return {};
  }
}

any_team make_team(std::size_t num_threads, std::string_view system, const team_options& options) {
  const threading_system* const row = find_threading_system(system);
  return row ? row->create(num_threads, options) : any_team();
}

}  // namespace corescale
