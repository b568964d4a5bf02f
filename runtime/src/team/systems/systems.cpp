// SPDX-License-Identifier: Apache-2.0
#include "systems.hpp"

#include <algorithm>
#include <array>
#include <new>

#include "corescale/team/serial.hpp"
#include "corescale/team/spin.hpp"

#ifdef CORESCALE_MODULE_SUFFIX
#define CORESCALE_MAKER(name) systems::loaded::name
#else
#define CORESCALE_MAKER(name) systems::name
#endif

#ifdef CORESCALE_HAS_OPENMP
#define CORESCALE_OPENMP CORESCALE_MAKER(make_openmp)
#else
#define CORESCALE_OPENMP nullptr
#endif
#ifdef CORESCALE_HAS_BOOST
#define CORESCALE_BOOST CORESCALE_MAKER(make_boost)
#define CORESCALE_BOOST_BARRIER CORESCALE_MAKER(make_boost_barrier)
#else
#define CORESCALE_BOOST nullptr
#define CORESCALE_BOOST_BARRIER nullptr
#endif
#ifdef CORESCALE_HAS_TBB
#define CORESCALE_TBB CORESCALE_MAKER(make_tbb)
#else
#define CORESCALE_TBB nullptr
#endif

namespace corescale::inline v0 {
namespace {

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
