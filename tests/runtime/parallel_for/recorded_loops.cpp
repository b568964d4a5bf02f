// SPDX-License-Identifier: Apache-2.0
// CORESCALE_LOOPS: what a process writes of its loops when it exits. Each case runs this program again with the variable.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "corescale/parallel_for/block_policy.hpp"
#include "corescale/parallel_for/parallel_for.hpp"
#include "corescale/team/any_team.hpp"

namespace {

int wrong = 0;

void expect(bool holds, const std::string& what) {
  if (holds) return;
  std::cerr << "wrong: " << what << '\n';
  wrong = 1;
}

constexpr int calls = 30;
constexpr std::size_t n = 1000;

/// A learning loop of two sizes, a named one of another body, and loops whose blocks are the program's own.
int loop_a_while() {
  corescale::any_team team = corescale::make_team(2, "spin");
  std::vector<std::atomic<int>> visits(n);
  std::atomic<int> elsewhere{0};
  const corescale::loop_options named{.name = "a \"named\", loop"};
  const corescale::loop_options whole{.policy = corescale::find_block_policy("static")};
  const corescale::loop_options fixed{.block = 7};
  for (int call = 0; call < calls; ++call) {
    for (const std::size_t size : {n, n / 2})
      corescale::parallel_for(team, std::size_t{0}, size, [&](std::size_t i) { ++visits[i]; });
    corescale::parallel_for(
        team, 0, 100, [&](int) { ++elsewhere; }, named);
    corescale::parallel_for(
        team, 0, 100, [&](int) { ++elsewhere; }, whole);
    corescale::parallel_for(
        team, 0, 100, [&](int) { ++elsewhere; }, fixed);
    corescale::parallel_for(team, 0, 1, [&](int) { ++elsewhere; });
  }
  for (std::size_t i = 0; i < n; ++i)
    expect(visits[i] == (i < n / 2 ? 2 : 1) * calls, "each iteration runs once a call");
  expect(elsewhere == calls * 301, "each iteration of the others runs once a call");
  return wrong;
}

/// The exit status of this program in a child whose CORESCALE_LOOPS is `file`.
int run_with(const std::string& file) {
  setenv("CORESCALE_LOOPS", file.c_str(), 1);
  std::string self = "/proc/self/exe", word = "loop";
  char* const words[] = {self.data(), word.data(), nullptr};
  pid_t child = 0;
  int status = -1;
  if (posix_spawn(&child, self.c_str(), nullptr, nullptr, words, environ) != 0) return -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

struct seen {
  std::set<std::uint64_t> blocks;
  int calls = 0;
};

/// By site and n.
std::map<std::string, seen> read(const std::string& file, int& runs) {
  std::ifstream text(file);
  std::map<std::string, seen> found;
  for (std::string line; std::getline(text, line);) {
    runs += line.starts_with("# corescale loops 1: ");
    if (line.starts_with('#')) continue;
    const auto quote = line.rfind('"');
    std::uint64_t size = 0, block = 0;
    unsigned threads = 0, called = 0;
    double iteration = 0, least = 0;
    const int fields = std::sscanf(line.c_str() + quote, "\",%lu,%u,%lf,%lu,%u,%lf", &size, &threads,
                                   &iteration, &block, &called, &least);
    expect(fields == 6 && threads == 2 && iteration > 0 && least > 0, "a line has its numbers: " + line);
    seen& one = found[line.substr(0, quote + 1) + std::to_string(size)];
    one.blocks.insert(block);
    one.calls += static_cast<int>(called);
  }
  return found;
}

}  // namespace

int main(int count, char** words) {
  if (count > 1 && std::string(words[1]) == "loop") {
    try {
      return loop_a_while();
    } catch (const std::runtime_error& error) {
      return std::string(error.what()).find("cannot be written") != std::string::npos ? 3 : 4;
    }
  }
  const auto folder = std::filesystem::temp_directory_path() / ("recorded_loops." + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  const std::string file = folder / "loops.csv";
  for (int run = 1; run <= 2; ++run) {
    expect(run_with(file) == 0, "a recorded program does what it did");
    int runs = 0;
    const auto found = read(file, runs);
    expect(runs == run, "each run adds its loops");
    expect(found.size() == 3, "two sizes of one loop, and a named one; none whose blocks are the program's");
    expect(found.contains("\"a \"\"named\"\", loop\"100"), "a name is quoted");
    for (const auto& [site, one] : found) {
      expect(one.calls == calls * run, site + ": every call is counted");
      expect(one.blocks.size() >= 4 && one.blocks.contains(1), site + ": blocks were called in turn");
    }
  }
  expect(run_with(folder / "none" / "loops.csv") == 3,
         "a file that cannot be written is said at the first loop");
  std::filesystem::remove_all(folder);
  return wrong;
}
