// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include "kernel/file.hpp"
#include "text/cpu_list.hpp"

namespace corescale::probe {

/// Seconds of all cores that the hypervisor gave to others since boot, in steps of a clock tick (10 ms
/// mostly).
inline double steal_seconds() {
  const std::string text = read_file("/proc/stat");
  std::string_view rest = text;
  for (int skipped = 0; skipped < 8; ++skipped) take_word(rest);
  const auto ticks = parse_number<unsigned long long>(take_word(rest)).value_or(0);
  return static_cast<double>(ticks) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

}  // namespace corescale::probe
