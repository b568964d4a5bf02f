// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "driver/error.hpp"

namespace network {

/// A file that is there whole or not at all: commit() writes it beside its place under another name, and puts it there. Made before
/// the work, so that a place where nothing can be written is refused before it; a program that is killed while it works leaves
/// nothing. Throws driver::Error.
class WholeFile {
 public:
  explicit WholeFile(std::filesystem::path file)
      : file_(std::move(file)), part_(file_.string() + "." + std::to_string(getpid()) + ".part") {
    if (!std::ofstream(part_)) refuse();
    remove();
  }
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;
  ~WholeFile() { remove(); }

  std::ostream& out() { return out_; }

  void commit() {
    std::ofstream part(part_);
    part << out_.str();
    part.close();
    std::error_code fault;
    if (part) std::filesystem::rename(part_, file_, fault);
    if (fault) errno = fault.value();
    if (!part || fault) refuse();
  }

 private:
  void remove() const {
    std::error_code ignored;
    std::filesystem::remove(part_, ignored);
  }
  [[noreturn]] void refuse() const {
    throw driver::Error(file_.string(), std::string("cannot be written: ") + std::strerror(errno),
                        "give a file in a folder that can be written");
  }

  std::filesystem::path file_, part_;
  std::ostringstream out_;
};

}  // namespace network
