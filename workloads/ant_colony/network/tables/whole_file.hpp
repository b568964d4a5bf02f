// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include "driver/error.hpp"

namespace network {

/// A file that is there whole or not at all: commit() writes it beside its place under another name, and puts it there. Made before
/// the work, so that a place where nothing can be written is refused before it; a program that is killed while it works leaves
/// nothing. Links are followed, a file that is there keeps its mode, and what is no regular file is written into; so is what
/// /dev/stdout, /dev/stderr and /dev/fd name, be it a file or not, behind all that it holds.
/// Throws driver::Error.
class WholeFile {
 public:
  explicit WholeFile(std::filesystem::path file)
      : descriptor_(named(file.string())),
        into_(descriptor_ >= 0 || is_other(file)),
        file_(into_ ? std::move(file) : resolved(file)),
        part_(into_ ? file_.string() : file_.string() + "." + std::to_string(getpid()) + ".part") {
    if (descriptor_ >= 0 ? fcntl(descriptor_, F_GETFL) < 0 : !std::ofstream(part_, std::ios::app)) refuse();
    remove();
  }
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;
  ~WholeFile() { remove(); }

  std::ostream& out() { return out_; }

  void commit() {
    if (descriptor_ >= 0) return write_into(out_.str());
    std::ofstream part(part_);
    std::error_code fault;
    if (const auto old = std::filesystem::status(file_, fault); !into_ && std::filesystem::exists(old))
      std::filesystem::permissions(part_, old.permissions(), fault);
    part << out_.str();
    part.close();
    fault.clear();
    if (part && !into_) std::filesystem::rename(part_, file_, fault);
    if (fault) errno = fault.value();
    if (!part || fault) refuse();
  }

 private:
  /// The descriptor of this process that a path stands for; -1: none.
  static int named(std::string_view file) {
    if (file == "/dev/stdout") return STDOUT_FILENO;
    if (file == "/dev/stderr") return STDERR_FILENO;
    for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
      int found = -1;
      if (!file.starts_with(folder)) continue;
      const auto [end, fault] =
          std::from_chars(file.data() + folder.size(), file.data() + file.size(), found);
      if (fault == std::errc{} && end == file.data() + file.size()) return found;
    }
    return -1;
  }
  void write_into(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t written = ::write(descriptor_, text.data(), text.size());
      if (written < 0 && errno != EINTR) refuse();
      text.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(written, 0)));
    }
  }
  /// Whether it is there and is no regular file.
  static bool is_other(const std::filesystem::path& file) {
    std::error_code fault;
    const auto there = std::filesystem::status(file, fault);
    return std::filesystem::exists(there) && !std::filesystem::is_regular_file(there);
  }
  static std::filesystem::path resolved(const std::filesystem::path& file) {
    std::error_code fault;
    const auto found = std::filesystem::weakly_canonical(file, fault);
    return fault ? file : found;
  }
  void remove() const {
    std::error_code ignored;
    if (!into_) std::filesystem::remove(part_, ignored);
  }
  [[noreturn]] void refuse() const {
    throw driver::Error(file_.string(), std::string("cannot be written: ") + std::strerror(errno),
                        "give a file in a folder that can be written");
  }

  int descriptor_;
  bool into_;  ///< no regular file: written into as it is
  std::filesystem::path file_, part_;
  std::ostringstream out_;
};

}  // namespace network
