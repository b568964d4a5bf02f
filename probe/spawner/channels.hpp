// SPDX-License-Identifier: Apache-2.0
// Standard input, output and error of the program.
// No output passes through the spawner while the program runs: a pipe would need a reader, which would take a core from the program.
// Standard error goes into a scratch file, of which only the end is read, after the exit. It has no name, so nothing of it stays behind.
// At every sample, the part before the wanted end is given back to the file system, so that the file stays small however much the program
// writes. Named files are opened as a shell's `> file` does, not for appending, which sendfile and copy_file_range refuse.
#pragma once

#include <cstdint>
#include <string>

#include "kernel/file.hpp"
#include "spawner/arguments.hpp"

namespace corescale::probe {

class channels {
 public:
  /// Throws start_failure.
  explicit channels(const arguments& asked);

  int input() const { return input_.get(); }
  int output() const { return output_.get(); }
  int errors() const { return errors_.get(); }

  /// Gives back the blocks of the scratch file that nobody will read.
  void trim() const;
  /// The name of the file that has no room for one more block: stdout, stderr or scratch; null: none.
  const char* full() const;
  /// The end of standard error.
  std::string tail() const;

 private:
  std::uint64_t tail_;
  bool scratch_;
  descriptor input_, output_, errors_;
};

}  // namespace corescale::probe
