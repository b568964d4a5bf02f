// SPDX-License-Identifier: Apache-2.0
#include "spawner/channels.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

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

/// A file without a name; file systems that know no O_TMPFILE give it one for a moment.
/// `append`: what a script writes to /dev/stderr, which opens the file again, is not written over.
descriptor scratch_file(const std::string& directory, int append) {
  descriptor file(open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC | append, 0600));
  if (file) return file;
  std::string path = directory + "/corescale-XXXXXX";
  file = descriptor(mkostemp(path.data(), O_CLOEXEC | append));
  if (!file) throw start_failure{"scratch", errno};
  unlink(path.c_str());
  return file;
}

std::optional<std::uint64_t> regular_size(const descriptor& file) {
  struct stat status {};
  if (fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  return static_cast<std::uint64_t>(status.st_size);
}

}  // namespace

channels::channels(const arguments& asked) : tail_(asked.tail) {
  const std::string scratch = scratch_directory(asked.scratch);
  input_ = opened(asked.input, O_RDONLY, "stdin");
  output_ = open_sink(asked.output, asked.count_output, scratch, "stdout");
  errors_ = asked.errors == asked.output && !asked.errors.empty()
                ? sink{descriptor(fcntl(output(), F_DUPFD_CLOEXEC, 0)), false}
                : open_sink(asked.errors, asked.tail > 0, scratch, "stderr");
}

channels::sink channels::open_sink(const std::string& path, bool keep, const std::string& scratch,
                                   const char* step) {
  if (!path.empty()) return {opened(path, O_RDWR | O_CREAT | O_TRUNC, step), false};
  if (keep) return {scratch_file(scratch, std::strcmp(step, "stderr") == 0 ? O_APPEND : 0), true};
  return {opened("/dev/null", O_RDWR, step), false};
}

void channels::trim() const {
  constexpr std::uint64_t block = 1 << 20;
  for (const sink* kept : {&output_, &errors_}) {
    const std::uint64_t size = kept->scratch ? regular_size(kept->file).value_or(0) : 0;
    if (size < tail_ + block) continue;
    const auto unread = static_cast<off_t>((size - tail_) / block * block);
    if (unread > 0) fallocate(kept->file.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, unread);
  }
}

std::optional<std::uint64_t> channels::output_bytes() const { return regular_size(output_.file); }

std::string channels::end_of(const sink& from) const {
  const std::uint64_t size = regular_size(from.file).value_or(0);
  std::string text(std::min(size, tail_), '\0');
  const ssize_t count =
      pread(from.file.get(), text.data(), text.size(), static_cast<off_t>(size - text.size()));
  text.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
  return text;
}

}  // namespace corescale::probe
