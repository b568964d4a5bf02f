// SPDX-License-Identifier: Apache-2.0
#include "kernel/process_tree.hpp"

#include <dirent.h>
#include <unistd.h>

#include <map>
#include <memory>

#include "kernel/file.hpp"
#include "text/cpu_list.hpp"

namespace corescale::probe {
namespace {

std::string proc(pid_t process) { return "/proc/" + std::to_string(process); }

/// The entries of a directory that are numbers: processes in /proc, threads in /proc/PID/task.
std::vector<pid_t> numbers_in(const std::string& directory) {
  std::vector<pid_t> found;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(opendir(directory.c_str()),
                                                    [](DIR* d) { return closedir(d); });
  while (const dirent* entry = entries ? readdir(entries.get()) : nullptr)
    if (const auto number = parse_number<pid_t>(entry->d_name)) found.push_back(*number);
  return found;
}

/// The fields of /proc/PID/stat from the state on; the name before them may hold blanks and brackets.
std::string status_fields(pid_t process) {
  const std::string text = read_file(proc(process) + "/stat");
  const auto bracket = text.rfind(')');
  return bracket == text.npos ? std::string() : text.substr(bracket + 1);
}

void append_children(pid_t process, std::vector<pid_t>& found) {
  for (const pid_t thread : threads_of(process)) {
    const std::string text = read_file(proc(process) + "/task/" + std::to_string(thread) + "/children");
    std::string_view rest = text;
    while (const auto child = parse_number<pid_t>(take_word(rest))) found.push_back(*child);
  }
}

/// For kernels without CONFIG_PROC_CHILDREN: the parents of all processes of the machine.
std::multimap<pid_t, pid_t> children_by_parent() {
  std::multimap<pid_t, pid_t> children;
  for (const pid_t process : numbers_in("/proc")) {
    const std::string fields = status_fields(process);
    std::string_view rest = fields;
    take_word(rest);
    if (const auto parent = parse_number<pid_t>(take_word(rest))) children.emplace(*parent, process);
  }
  return children;
}

}  // namespace

std::vector<pid_t> threads_of(pid_t process) { return numbers_in(proc(process) + "/task"); }

std::vector<pid_t> descendants() {
  static const bool listed = access("/proc/thread-self/children", R_OK) == 0;
  const auto children = listed ? std::multimap<pid_t, pid_t>() : children_by_parent();
  std::vector<pid_t> found;
  const auto append = [&](pid_t parent) {
    if (listed) return append_children(parent, found);
    const auto [first, last] = children.equal_range(parent);
    for (auto child = first; child != last; ++child) found.push_back(child->second);
  };
  append(getpid());
  for (std::size_t next = 0; next < found.size(); ++next) append(pid_t{found[next]});
  return found;
}

bool is_running(pid_t process) {
  const std::string fields = status_fields(process);
  std::string_view rest = fields;
  const auto state = take_word(rest);
  return !state.empty() && state != "Z" && state != "X";
}

std::string short_name(pid_t process) {
  const std::string name = read_file(proc(process) + "/comm");
  return name.substr(0, name.find_last_not_of('\n') + 1);
}

}  // namespace corescale::probe
