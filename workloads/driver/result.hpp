// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <iostream>
#include <new>
#include <optional>
#include <string>
#include <string_view>

#include "corescale/region.h"
#include "driver/error.hpp"

namespace driver {

/// 16 digits.
inline std::string hexadecimal(std::uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

/// What a workload found: one JSON line on stdout, and the same numbers and checks through region.h.
class Result {
 public:
  /// A number that is absent or not finite is null on stdout and left out of region.h.
  void metric(const std::string& name, std::optional<double> value) {
    const bool finite = value && std::isfinite(*value);
    if (finite) corescale_metric(name.c_str(), *value);
    field(name, finite ? number(*value) : "null");
  }

  void check(const std::string& name, bool ok) {
    corescale_check(name.c_str(), ok);
    field(name, ok ? "true" : "false");
    good_ = good_ && ok;
  }

  void text(const std::string& name, std::string_view value) { field(name, quoted(value)); }

  std::string json() const { return "{" + fields_ + "}"; }

  /// The line on stdout, and the exit status: 0 if every check held and the line was written, else 1.
  int print() const {
    errno = 0;
    std::cout << json() << std::endl;
    if (std::cout.good()) return good_ ? 0 : 1;
    std::cerr << "standard output: cannot be written: " << std::strerror(errno != 0 ? errno : EIO)
              << "; give it a file or a pipe that takes it\n";
    return 1;
  }

 private:
  void field(const std::string& name, const std::string& value) {
    if (!fields_.empty()) fields_ += ", ";
    fields_ += quoted(name) + ": " + value;
  }

  /// The shortest digits that read back as the same double, whatever the locale.
  static std::string number(double value) {
    char text[32];
    return {text, std::to_chars(text, text + sizeof text, value).ptr};
  }

  static std::string quoted(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
      if (c == '"' || c == '\\') out += '\\';
      out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
    return out + '"';
  }

  std::string fields_;
  bool good_ = true;
};

/// Replaces standard streams that were closed (`>&-`) by ones that discard everything, so that no other file gets their descriptors.
inline void hold_streams() {
  for (int stream = 0; stream <= 2; ++stream)
    if (fcntl(stream, F_GETFD) < 0) static_cast<void>(open("/dev/null", stream == 0 ? O_WRONLY : O_RDONLY));
}

/// The exit status of a workload. 0: success. 1: a check failed, or it could not finish. 2: the options cannot be used.
inline int run(std::string_view program, const std::function<int()>& body) {
  hold_streams();
  try {
    return body();
  } catch (const Error& error) {
    std::cerr << error.what() << '\n';
    return 2;
  } catch (const std::bad_alloc&) {
    std::cerr << program << ": there is not enough memory for this; ask for less\n";
    return 2;
  } catch (const std::exception& error) {
    std::cerr << program << ": " << printable(error.what()) << '\n';
    return 1;
  }
}

}  // namespace driver
