// SPDX-License-Identifier: Apache-2.0
// What the kernel reports about whole CPUs, in steps of a clock tick (10 ms mostly).
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/file.hpp"
#include "text/cpu_list.hpp"

namespace corescale::probe {

inline double tick_seconds() { return 1.0 / static_cast<double>(sysconf(_SC_CLK_TCK)); }

/// Seconds since boot.
struct cpu_time {
  /// CPU seconds that the hypervisor gave to others, of all CPUs together.
  double steal = 0;
  /// Seconds in which the CPUs asked for ran any program or served an interrupt.
  double busy = 0;
  /// The number of CPUs asked for that have a line. A container may show other CPUs or none, and a CPU may be offline.
  std::size_t found = 0;
};

/// The figures of one line of /proc/stat after its name, with a space between two: user, nice, system, idle,
/// iowait, irq, softirq, steal.
inline cpu_time cpu_time_of(std::string_view figures) {
  double ticks[8] = {};
  for (double& one : ticks)
    one = static_cast<double>(parse_number<unsigned long long>(take_word(figures)).value_or(0));
  const double busy = ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6];
  return {.steal = ticks[7] * tick_seconds(), .busy = busy * tick_seconds()};
}

/// The CPU time of `cpus` in the text of /proc/stat.
inline cpu_time cpu_time_in(std::string_view text, const std::vector<int>& cpus) {
  cpu_time total;
  for (std::size_t end = 0; text.starts_with("cpu"); text.remove_prefix(std::min(end + 1, text.size()))) {
    end = std::min(text.find('\n'), text.size());
    std::string_view figures = text.substr(0, end);
    const std::string_view name = take_word(figures).substr(3);
    const cpu_time spent = cpu_time_of(figures);
    if (name.empty()) total.steal = spent.steal;
    const auto cpu = parse_number<int>(name);
    const auto times = cpu ? std::count(cpus.begin(), cpus.end(), *cpu) : 0;
    if (times > 0) total.busy += spent.busy, total.found += static_cast<std::size_t>(times);
  }
  return total;
}

/// How long CPUs were busy from one reading to another; nothing if either lacks one of them.
inline std::optional<double> busy_between(const cpu_time& before, const cpu_time& after, std::size_t cpus) {
  if (before.found != cpus || after.found != cpus) return {};
  return after.busy - before.busy;
}

inline cpu_time cpu_time_now(const std::vector<int>& cpus) {
  return cpu_time_in(read_file("/proc/stat"), cpus);
}

}  // namespace corescale::probe
