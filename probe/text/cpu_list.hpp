// SPDX-License-Identifier: Apache-2.0
// CPU lists as the kernel and taskset write them: "0,2,4-7". Also the numbers that options carry.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <vector>

namespace corescale::probe {

/// The whole of `text` as a number; nothing if it is anything else, such as a number with a sign or blanks.
template <class Number, class... Base>
std::optional<Number> parse_number(std::string_view text, Base... base) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base...);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty()) return {};
  if (!(value >= Number{})) return {};  // NaN as well
  return value;
}

/// One more than the largest CPU number that is accepted: kernels are built for at most 8192 CPUs.
inline constexpr int cpu_limit = 65536;

/// The CPUs of a list in the order given; nothing if it is malformed, descending or out of range.
inline std::optional<std::vector<int>> parse_cpu_list(std::string_view text) {
  std::vector<int> cpus;
  for (bool more = true; more;) {
    const auto comma = text.find(',');
    const auto range = text.substr(0, comma);
    const auto dash = range.find('-');
    const auto first = parse_number<int>(range.substr(0, dash));
    const auto last = dash == range.npos ? first : parse_number<int>(range.substr(dash + 1));
    if (!first || !last || *last < *first || *last >= cpu_limit) return {};
    for (int cpu = *first; cpu <= *last; ++cpu) cpus.push_back(cpu);
    more = comma != text.npos;
    text = more ? text.substr(comma + 1) : std::string_view{};
  }
  return cpus;
}

}  // namespace corescale::probe
