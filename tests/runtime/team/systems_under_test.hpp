// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "corescale/team/any_team.hpp"

namespace corescale {

/// GoogleTest calls this for the parameter in a test's name.
inline void PrintTo(const threading_system& system, std::ostream* out) { *out << system.name; }

namespace test {

#if defined(__SANITIZE_THREAD__)
inline constexpr bool thread_sanitizer = true;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
inline constexpr bool thread_sanitizer = true;
#else
inline constexpr bool thread_sanitizer = false;
#endif
#else
inline constexpr bool thread_sanitizer = false;
#endif

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool address_sanitizer = true;
#else
inline constexpr bool address_sanitizer = false;
#endif

inline std::size_t largest_team(const threading_system& system) { return system.name == "serial" ? 1 : 4; }

/// One test per row of the table.
class EverySystem : public testing::TestWithParam<threading_system> {
 protected:
  void SetUp() override {
    if (!GetParam().is_present()) GTEST_SKIP() << "absent from this build: needs " << GetParam().package;
    if (thread_sanitizer && GetParam().name == "openmp")
      GTEST_SKIP() << "ThreadSanitizer cannot see into this OpenMP library; team.openmp_race covers it";
  }

  any_team make(std::size_t num_threads) const { return GetParam().create(num_threads); }
  any_team make_largest() const { return make(largest_team(GetParam())); }
};

inline auto every_system() {
  const auto table = threading_systems();
  return testing::ValuesIn(table.begin(), table.end());
}

inline std::string name_of(const testing::TestParamInfo<threading_system>& row) {
  return std::string(row.param.name);
}

}  // namespace test
}  // namespace corescale
