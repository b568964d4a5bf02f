// SPDX-License-Identifier: Apache-2.0
#include "kernel/process_tree.hpp"

#include <dirent.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>
#include <set>

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

struct state {
  char letter = 'X';
  pid_t parent = 0;
};

/// Fields of /proc/PID/stat. The name before them may contain blanks and brackets.
state state_of(pid_t process) {
  const std::string text = read_file(proc(process) + "/stat");
  const auto bracket = text.rfind(')');
  if (bracket == text.npos) return {};
  std::string_view rest = std::string_view(text).substr(bracket + 1);
  const auto letter = take_word(rest);
  if (letter.empty()) return {};
  return {letter[0], parse_number<pid_t>(take_word(rest)).value_or(0)};
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
  for (const pid_t process : numbers_in("/proc")) children.emplace(state_of(process).parent, process);
  return children;
}

bool runs(const state& of) { return of.letter != 'Z' && of.letter != 'X'; }

/// Opens a descriptor of the process that has this number now. If its parent is one of ours, it is the process that was listed. If it
/// ends before the signal, the signal reaches nobody.
bool kill_child_of(const std::set<pid_t>& parents, pid_t process) {
  const descriptor handle(static_cast<int>(syscall(SYS_pidfd_open, process, 0)));
  if (!handle && errno == ESRCH) return false;
  const state now = state_of(process);
  if (!runs(now) || !parents.contains(now.parent)) return false;
  if (handle) return syscall(SYS_pidfd_send_signal, handle.get(), SIGKILL, nullptr, 0) == 0;
  return kill(process, SIGKILL) == 0;
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
  for (std::size_t next = 0; next < found.size() && !child_ended(); ++next) append(pid_t{found[next]});
  return found;
}

bool child_ended() {
  sigset_t pending;
  return sigpending(&pending) == 0 && sigismember(&pending, SIGCHLD) == 1;
}

bool is_descendant(pid_t process) {
  while (process > 1 && process != getpid()) process = state_of(process).parent;
  return process == getpid();
}

std::vector<pid_t> running_descendants() {
  auto processes = descendants();
  std::erase_if(processes, [](pid_t process) { return !runs(state_of(process)); });
  return processes;
}

int stopped_descendants() {
  const auto processes = descendants();
  return static_cast<int>(std::count_if(processes.begin(), processes.end(),
                                        [](pid_t process) { return state_of(process).letter == 'T'; }));
}

std::vector<pid_t> kill_descendants() {
  auto processes = descendants();
  std::set<pid_t> parents(processes.begin(), processes.end());
  parents.insert(getpid());
  std::erase_if(processes, [&](pid_t process) { return !kill_child_of(parents, process); });
  return processes;
}

pid_t tracer_of_zombie(pid_t process) {
  if (state_of(process).letter != 'Z' || threads_of(process).size() > 1) return 0;
  pid_t tracer = 0;
  for_each_line(read_file(proc(process) + "/status"), [&](std::string_view line) {
    if (take_word(line) == "TracerPid:") tracer = parse_number<pid_t>(take_word(line)).value_or(0);
  });
  return tracer;
}

bool can_look() { return bool(descriptor(open("/proc/self/stat", O_RDONLY | O_CLOEXEC))); }

void continue_stopped(pid_t process) {
  if (state_of(process).letter == 'T') kill(process, SIGCONT);
}

std::string short_name(pid_t process) {
  const std::string name = read_file(proc(process) + "/comm");
  return name.substr(0, name.find_last_not_of('\n') + 1);
}

}  // namespace corescale::probe
