// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

namespace driver {

/// Something a person asked for or gave cannot be used. `what()` is one line: where: what; remedy.
class Error : public std::runtime_error {
 public:
  Error(const std::string& where, const std::string& what, const std::string& remedy)
      : std::runtime_error(where + ": " + what + "; " + remedy) {}
};

}  // namespace driver
