// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace corescale::inline v0::detail {

/// Where a call stands in the source. clang 14 has no std::source_location.
struct source_place {
  const char* file;
  unsigned line;

  /// As the default of a parameter: of the call that leaves it out.
  static constexpr source_place current(const char* file = __builtin_FILE(),
                                        unsigned line = __builtin_LINE()) noexcept {
    return {file, line};
  }
};

}  // namespace corescale::detail
