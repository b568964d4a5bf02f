// SPDX-License-Identifier: Apache-2.0
#include "spawner/channels.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "spawner/failure.hpp"

namespace corescale::probe {
namespace {

descriptor opened(const std::string& path, int flags, const char* step) {
  descriptor file(open(path.c_str(), flags | O_CLOEXEC | O_NOCTTY, 0644));
  if (!file) throw start_failure{step, errno};
  return file;
}

std::string scratch_directory(const std::string& asked) {
  if (!asked.empty()) return asked;
  const char* inherited = std::getenv("TMPDIR");
  return inherited && *inherited ? inherited : "/tmp";
}

/// A file without a name. On file systems without O_TMPFILE it has a name for a moment.
/// It is opened for appending: /dev/stderr opens the file again, and what a script writes there is not
/// overwritten.
descriptor scratch_file(const std::string& directory) {
  descriptor file(open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC | O_APPEND, 0600));
  if (file) return file;
  std::string path = directory + "/corescale-XXXXXX";
  file = descriptor(mkostemp(path.data(), O_CLOEXEC | O_APPEND));
  if (!file) throw start_failure{"scratch", errno};
  unlink(path.c_str());
  return file;
}

/// 0 if it is not a regular file.
std::uint64_t size_of(const descriptor& file) {
  struct stat status {};
  const bool regular = fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode);
  return regular ? static_cast<std::uint64_t>(status.st_size) : 0;
}

}  // namespace

channels::channels(const arguments& asked) : tail_(asked.tail), scratch_(asked.errors.empty() && tail_ > 0) {
  constexpr int written = O_RDWR | O_CREAT | O_TRUNC;
  input_ = opened(asked.input, O_RDONLY | O_NONBLOCK, "stdin");  // does not wait for the writer of a pipe
  fcntl(input_.get(), F_SETFL, O_RDONLY);
  output_ = opened(asked.output, written, "stdout");
  errors_ = scratch_ ? scratch_file(scratch_directory(asked.scratch))
                     : opened(asked.errors.empty() ? "/dev/null" : asked.errors, written, "stderr");
}

void channels::trim() const {
  constexpr std::uint64_t block = 1 << 20;
  const std::uint64_t size = scratch_ ? size_of(errors_) : 0;
  if (size < tail_ + block) return;
  const auto unread = static_cast<off_t>((size - tail_) / block * block);
  fallocate(errors_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, unread);
}

const char* channels::full() const {
  constexpr off_t block = 4096;
  const auto lacks_room = [](const descriptor& file) {
    const auto size = static_cast<off_t>(size_of(file));
    if (fallocate(file.get(), FALLOC_FL_KEEP_SIZE, size, block) != 0)
      return errno == ENOSPC || errno == EDQUOT;
    fallocate(file.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, size, block);
    return false;
  };
  if (lacks_room(output_)) return "stdout";
  return !lacks_room(errors_) ? nullptr : scratch_ ? "scratch" : "stderr";
}

std::string channels::tail() const {
  const std::uint64_t size = size_of(errors_);
  std::string text(std::min(size, tail_), '\0');
  const ssize_t count =
      pread(errors_.get(), text.data(), text.size(), static_cast<off_t>(size - text.size()));
  text.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
  return text;
}

}  // namespace corescale::probe
