// SPDX-License-Identifier: Apache-2.0
// Writes one JSON text. Two other writers of JSON in this repository do not use it: region.h must work in C programs without a library,
// and a workload's result is one flat line. Strings may be any bytes: what is not UTF-8 becomes U+FFFD, byte by byte.
#pragma once

#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace corescale::probe {

/// The length of the well-formed UTF-8 sequence that starts `text`; 0 if there is none (RFC 3629).
inline std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xC2 && lead < 0xE0   ? 2
                             : (lead & 0xF0) == 0xE0       ? 3
                             : lead >= 0xF0 && lead < 0xF5 ? 4
                                                           : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  const unsigned char second = byte(1);
  const bool overlong = (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
  const bool surrogate = lead == 0xED && second >= 0xA0;
  const bool beyond = lead == 0xF4 && second >= 0x90;
  return overlong || surrogate || beyond ? 0 : length;
}

/// `text` as a JSON string with its quotes: valid UTF-8 without control characters, whatever the bytes are.
inline std::string json_quoted(std::string_view text) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string quoted = "\"";
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const auto byte = static_cast<unsigned char>(text[0]);
    if (length == 0) {
      quoted += "\\ufffd";
    } else if (length == 1 && (byte < 0x20 || byte == 0x7F)) {
      quoted += {'\\', 'u', '0', '0', digits[byte >> 4], digits[byte & 15]};
    } else {
      if (byte == '"' || byte == '\\') quoted += '\\';
      quoted += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return quoted += '"';
}

/// Appends members and elements, with commas between them. The caller opens and closes in pairs.
class json_writer {
 public:
  void open(char bracket) {
    separate();
    text_ += bracket;
    fresh_ = true;
  }
  void close(char bracket) {
    text_ += bracket;
    fresh_ = false;
  }
  json_writer& key(std::string_view name) {
    separate();
    text_ += json_quoted(name) + ":";
    fresh_ = true;
    return *this;
  }

  void value(std::string_view text) { raw(json_quoted(text)); }
  void value(const char* text) { value(std::string_view(text)); }
  void value(bool truth) { raw(truth ? "true" : "false"); }
  void value(std::nullopt_t) { raw("null"); }
  /// Numbers in the shortest form that reads back as the same; infinities and NaN as null.
  template <class Number>
  requires(std::integral<Number> || std::floating_point<Number>) void value(Number number) {
    if constexpr (std::floating_point<Number>)
      if (!std::isfinite(number)) return raw("null");
    char digits[32];
    raw({digits, std::to_chars(digits, digits + sizeof digits, number).ptr});
  }
  template <class Value>
  void value(const std::optional<Value>& maybe) {
    maybe ? value(*maybe) : value(std::nullopt);
  }
  template <class Value>
  void member(std::string_view name, const Value& content) {
    key(name).value(content);
  }
  template <class Range>
  void array(std::string_view name, const Range& elements) {
    key(name).open('[');
    for (const auto& element : elements) value(element);
    close(']');
  }

  const std::string& text() const { return text_; }

 private:
  void separate() {
    if (!fresh_) text_ += ',';
    fresh_ = false;
  }
  void raw(std::string_view token) {
    separate();
    text_ += token;
  }
  std::string text_;
  bool fresh_ = true;
};

}  // namespace corescale::probe
