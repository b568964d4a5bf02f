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

/// A file that appears whole or not at all: commit() writes it under another name in the same folder, and renames it. Construct it before
/// the work, so that a place where nothing can be written is refused early. A program that is killed while it works leaves nothing. Links
/// are followed, and an existing file keeps its mode. A file that is not regular is opened once and written into, so that a pipe's reader
/// waits for all of it. The same holds for /dev/stdout, /dev/stderr and /dev/fd; if they are regular files, text is appended. Throws
/// driver::Error.
class WholeFile {
 public:
  explicit WholeFile(std::filesystem::path file)
      : given_(named(file.string())),
        into_(given_ >= 0 || is_other(file)),
        file_(into_ ? std::move(file) : resolved(file)),
        part_(file_.string() + "." + std::to_string(getpid()) + ".part"),
        opened_(into_ && given_ < 0 ? ::open(file_.c_str(), O_WRONLY | O_CLOEXEC) : -1) {
    if (given_ >= 0 ? fcntl(given_, F_GETFL) < 0 : into_ ? opened_ < 0 : !std::ofstream(part_, std::ios::app))
      refuse();
    remove();
  }
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;
  ~WholeFile() {
    remove();
    if (opened_ >= 0) close(opened_);
  }

  std::ostream& out() { return out_; }

  /// Writes it under the other name. After that, a full disk cannot make commit() fail.
  void prepare() {
    if (into_ || prepared_) return;
    std::ofstream part(part_);
    std::error_code fault;
    if (const auto old = std::filesystem::status(file_, fault); std::filesystem::exists(old))
      std::filesystem::permissions(part_, old.permissions(), fault);
    part << out_.str();
    part.close();
    if (!part) refuse();
    prepared_ = true;
  }

  void commit() {
    if (into_) return write_into(out_.str());
    prepare();
    std::error_code fault;
    std::filesystem::rename(part_, file_, fault);
    if (fault) errno = fault.value();
    if (fault) refuse();
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
  int descriptor() const { return given_ >= 0 ? given_ : opened_; }
  void write_into(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t written = ::write(descriptor(), text.data(), text.size());
      if (written < 0 && errno != EINTR) refuse();
      text.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(written, 0)));
    }
  }
  /// Whether it is there and is not a regular file.
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

  int given_;  ///< descriptor that it names; -1: none
  bool into_;  ///< whether it is no regular file, and is written into as it is
  bool prepared_ = false;
  std::filesystem::path file_, part_;
  int opened_;  ///< descriptor of what is not a regular file; -1: none
  std::ostringstream out_;
};

}  // namespace network
