// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <string>

/// What a program printed, stdout and stderr, and its exit status; -1: a signal ended it.
struct Finished {
  int status;
  std::string output;
};

/// Through the shell; `before` is put in front of all.
inline Finished run_program(const std::string& program, const std::string& arguments,
                            const std::string& environment, const std::string& before = "") {
  const std::string command = before + " env " + environment + " '" + program + "' " + arguments + " 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  std::string output;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) output += static_cast<char>(c);
  const int status = pclose(pipe);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, output};
}

/// Whether the program was built without a library, which it says in one line, with the option that names a copy.
inline bool lacks(const Finished& run, const std::string& library, const std::string& option) {
  if (run.status != 2) return false;
  const std::string said = "built without " + library + "; configure with -D" + option + "=";
  EXPECT_NE(run.output.find(said), std::string::npos) << run.output;
  EXPECT_EQ(std::ranges::count(run.output, '\n'), 1) << run.output;
  return true;
}

/// The text of a field in a flat JSON object.
inline std::string field(const std::string& output, const std::string& name) {
  const std::string key = "\"" + name + "\": ";
  const std::size_t at = output.find(key);
  if (at == std::string::npos) return "no " + name + " in " + output;
  const std::size_t value = at + key.size();
  return output.substr(value, output.find_first_of(",}", value) - value);
}
