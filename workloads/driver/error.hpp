// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

namespace driver {

/// Text from outside in a form that a terminal may show: control characters, including those of UTF-8, are written as \x1b.
inline std::string printable(std::string_view text) {
  static constexpr std::string_view digits = "0123456789abcdef";
  std::string shown;
  const auto spell = [&shown](unsigned char c) { shown += {'\\', 'x', digits[c / 16], digits[c % 16]}; };
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto c = static_cast<unsigned char>(text[at]);
    const auto next = static_cast<unsigned char>(at + 1 < text.size() ? text[at + 1] : ' ');
    if (c == 0xc2 && next >= 0x80 && next < 0xa0) {
      spell(c);
      spell(next);
      ++at;
    } else if (c < 0x20 || c == 0x7f) {
      spell(c);
    } else {
      shown += text[at];
    }
  }
  return shown;
}

/// An option or an input that cannot be used. `what()` is one line: where: what; remedy.
class Error : public std::runtime_error {
 public:
  Error(const std::string& where, const std::string& what, const std::string& remedy)
      : std::runtime_error(printable(where + ": " + what + "; " + remedy)) {}
};

}  // namespace driver
