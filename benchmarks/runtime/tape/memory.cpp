// SPDX-License-Identifier: Apache-2.0
#include "memory.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <stdexcept>
#include <string>

namespace {

/// A line of this process's status, in bytes: VmRSS is what it has, VmHWM the most it had.
double status(const std::string& name) {
  std::ifstream lines("/proc/self/status");
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(name + ":")) return 1024 * std::stod(line.substr(name.size() + 1));
  throw std::runtime_error("/proc/self/status has no " + name);
}

double measured(const bench::contender& one) {
  bench::two_body::taken = 10 * bench::two_body::steps;
  std::ofstream("/proc/self/clear_refs") << 5;  // the most so far is what there is now
  const double before = status("VmRSS");
  (void)one.run();
  return (status("VmHWM") - before) / (88.0 * bench::two_body::taken + 7);
}

}  // namespace

double bench::bytes_per_operation(const contender& one) {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("no pipe");
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("no process");
  if (child == 0) {
    const double found = measured(one);
    _exit(write(ends[1], &found, sizeof found) == sizeof found ? 0 : 1);
  }
  close(ends[1]);
  double found = 0;
  const bool answered = read(ends[0], &found, sizeof found) == sizeof found;
  close(ends[0]);
  waitpid(child, nullptr, 0);
  if (!answered) throw std::runtime_error(std::string(one.library) + " ended while its memory was measured");
  return found;
}
