// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "driver/error.hpp"

namespace network {

/// A file that is there whole or not at all: written beside its place under another name, and put there by commit().
/// Made before the work, so that a place where nothing can be written is refused before it. Throws driver::Error.
class WholeFile {
 public:
  explicit WholeFile(std::filesystem::path file)
      : file_(std::move(file)),
        part_(file_.string() + "." + std::to_string(getpid()) + ".part"),
        out_(part_) {
    if (!out_) refuse();
  }
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;
  ~WholeFile() {
    std::error_code ignored;
    std::filesystem::remove(part_, ignored);
  }

  std::ostream& out() { return out_; }

  void commit() {
    out_.close();
    std::error_code fault;
    if (out_) std::filesystem::rename(part_, file_, fault);
    if (fault) errno = fault.value();
    if (!out_ || fault) refuse();
  }

 private:
  [[noreturn]] void refuse() const {
    throw driver::Error(file_.string(), std::string("cannot be written: ") + std::strerror(errno),
                        "give a file in a folder that can be written");
  }

  std::filesystem::path file_, part_;
  std::ofstream out_;
};

}  // namespace network
