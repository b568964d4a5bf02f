// SPDX-License-Identifier: Apache-2.0
// Reads and writes small files whole, such as those of /proc and cgroups. Has a descriptor that closes
// itself.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <utility>

namespace corescale::probe {

/// Owns one file descriptor; -1 is none.
class descriptor {
 public:
  descriptor() = default;
  explicit descriptor(int number) : number_(number) {}
  descriptor(descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  descriptor& operator=(descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int get() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }

 private:
  int number_ = -1;
};

/// The content of the file; empty if it cannot be read.
inline std::string read_file(const std::string& path) {
  const descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  char buffer[4096];
  for (ssize_t count; file && (count = ::read(file.get(), buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(count));
  return text;
}

/// Writes all of `text`, in one call if the kernel accepts that. False on any failure; errno says which.
inline bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(file, text.data(), text.size());
    if (count < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

/// Writes a control file that exists already.
inline bool write_file(const std::string& path, std::string_view text) {
  const descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return file && write_all(file.get(), text);
}

/// The target of a symbolic link; empty if it cannot be read, as for the executable of a zombie.
inline std::string read_link(const std::string& path) {
  char target[4096];
  const ssize_t length = ::readlink(path.c_str(), target, sizeof target);
  return length < 0 ? std::string() : std::string(target, static_cast<std::size_t>(length));
}

template <class Use>
void for_each_line(std::string_view text, Use use) {
  while (!text.empty()) {
    const auto end = text.find('\n');
    use(text.substr(0, end));
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
}

/// The first blank-separated word of `text`, taken off its front.
inline std::string_view take_word(std::string_view& text) {
  const auto start = text.find_first_not_of(" \t\n");
  if (start == text.npos) return text = {};
  const auto end = text.find_first_of(" \t\n", start);
  const auto word = text.substr(start, end == text.npos ? end : end - start);
  text.remove_prefix(end == text.npos ? text.size() : end);
  return word;
}

}  // namespace corescale::probe
