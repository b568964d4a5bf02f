// SPDX-License-Identifier: Apache-2.0
// Standard input, output and error of the program.
//
// Nothing passes through the spawner while the program runs: a pipe would need a reader, which takes a core
// from it. What is kept goes into a file, and only its end is read, after the exit. A scratch file has no
// name, so nothing of it stays behind; what has been written beyond its wanted end is given back to the file
// system at every look, so that it stays small however much the program writes. Files are opened as a shell's
// `> file` does, not for appending, which sendfile and copy_file_range refuse; standard error to the file of
// standard output shares its position, as `2>&1`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kernel/file.hpp"
#include "spawner/arguments.hpp"

namespace corescale::probe {

class channels {
 public:
  /// Throws start_failure.
  explicit channels(const arguments& asked);

  int input() const { return input_.get(); }
  int output() const { return output_.file.get(); }
  int errors() const { return errors_.file.get(); }

  /// Gives back the blocks of scratch files that nobody will read.
  void trim() const;
  /// Bytes written to a regular file; nothing where output went elsewhere.
  std::optional<std::uint64_t> output_bytes() const;
  std::string output_tail() const { return end_of(output_); }
  std::string errors_tail() const { return end_of(errors_); }

 private:
  struct sink {
    descriptor file;
    bool scratch = false;
  };
  static sink open_sink(const std::string& path, bool keep, const std::string& scratch, const char* step);
  std::string end_of(const sink& from) const;

  std::uint64_t tail_;
  descriptor input_;
  sink output_, errors_;
};

}  // namespace corescale::probe
