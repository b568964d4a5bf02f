// SPDX-License-Identifier: Apache-2.0
#include "spawner/trace.hpp"

#include <elf.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "kernel/clock.hpp"
#include "kernel/file.hpp"
#include "kernel/process_tree.hpp"
#include "spawner/failure.hpp"
#include "text/cpu_list.hpp"

namespace corescale::probe {
namespace {

std::string proc(pid_t thread, const char* name) { return "/proc/" + std::to_string(thread) + name; }

/// The paths of a maps file, which begin at the sixth field. Only mapped files have an absolute path there.
std::vector<std::string> mapped_files(const std::string& text) {
  std::vector<std::string> files;
  for_each_line(text, [&](std::string_view line) {
    for (int skipped = 0; skipped < 5; ++skipped) take_word(line);
    const auto start = line.find_first_not_of(' ');
    if (start == line.npos || line[start] != '/') return;
    const std::string path(line.substr(start));
    if (std::find(files.begin(), files.end(), path) == files.end()) files.push_back(path);
  });
  return files;
}

/// CPU seconds of all threads of a process, ended ones included.
double cpu_seconds(pid_t process) {
  clockid_t clock{};
  return clock_getcpuclockid(process, &clock) == 0 ? seconds_of(clock) : 0;
}

template <class Header, class Segment>
bool names_loader(int file) {
  Header header{};
  if (pread(file, &header, sizeof header, 0) != sizeof header) return false;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Segment segment{};
    const auto at = static_cast<off_t>(header.e_phoff + std::size_t{i} * header.e_phentsize);
    if (pread(file, &segment, sizeof segment, at) == sizeof segment && segment.p_type == PT_INTERP)
      return true;
  }
  return false;
}

/// Whether the executable asks for a dynamic loader.
bool is_dynamic(const std::string& path) {
  const descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  unsigned char identity[EI_NIDENT] = {};
  if (!file || pread(file.get(), identity, sizeof identity, 0) != sizeof identity) return true;
  return identity[EI_CLASS] == ELFCLASS32 ? names_loader<Elf32_Ehdr, Elf32_Phdr>(file.get())
                                          : names_loader<Elf64_Ehdr, Elf64_Phdr>(file.get());
}

/// A loader is a shared object. If it is run by name, it has no loader itself, but preloads into the program that it runs.
bool is_loader(std::string_view path) {
  return path.substr(path.rfind('/') + 1).find(".so") != std::string_view::npos;
}

bool gains_privilege(const std::string& path) {
  struct stat status {};
  const bool set_id = stat(path.c_str(), &status) == 0 && (status.st_mode & (S_ISUID | S_ISGID)) != 0;
  return set_id || getxattr(path.c_str(), "security.capability", nullptr, 0) > 0;
}

/// Seconds that a process stays stopped by a signal.
constexpr double longest_stop = 1;

bool is_group_stop(int signal) {
  return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

}  // namespace

tracer::tracer(launched& main) : reaping(main.pid()) {
  constexpr long follow = PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE |
                          PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT | PTRACE_O_EXITKILL;
  if (ptrace(PTRACE_SEIZE, main.pid(), nullptr, follow) == 0) {
    main.release();
    return;
  }
  const int error = errno;
  kill(main.pid(), SIGKILL);
  waitpid(main.pid(), nullptr, 0);
  throw start_failure{"trace", error};
}

void tracer::drain(double now) {
  has_more_ = false;
  for (int handled = 0; handled < at_once; ++handled) {
    int status = 0;
    rusage usage{};
    const pid_t thread = wait4(-1, &status, __WALL | WNOHANG, &usage);
    if (thread <= 0) {
      childless_ = thread < 0 && errno == ECHILD;
      return go_on(now);
    }
    if (thread == main() && !WIFSTOPPED(status)) book(thread, status, usage, now);
    if (WIFSTOPPED(status))
      handle_stop(thread, status, now);
    else
      forget(thread);
  }
  has_more_ = true;
  go_on(now);
}

/// Handles a stop: an event that we asked for, a signal to pass on, or a group-stop, which lasts.
void tracer::handle_stop(pid_t thread, int status, double now) {
  const int signal = WSTOPSIG(status), event = status >> 16;
  process_of(thread);
  if (event == PTRACE_EVENT_EXEC) program_replaced(thread);
  if (event == PTRACE_EVENT_EXIT) about_to_exit(thread);
  if (event == PTRACE_EVENT_STOP && is_group_stop(signal)) {
    ptrace(PTRACE_LISTEN, thread, nullptr, nullptr);
    stopped_.emplace(thread, now);
  } else {
    stopped_.erase(thread);
    ptrace(PTRACE_CONT, thread, nullptr, event == 0 ? static_cast<long>(signal) : 0L);
  }
}

/// Continues processes that have been stopped for too long. A process may have stopped for another tracer, which would wait for ever,
/// because the whole tree is traced already.
void tracer::go_on(double now) {
  for (auto& [thread, since] : stopped_) {
    if (now - since < longest_stop) continue;
    kill(process_of(thread), SIGCONT);
    since = now;
  }
}

pid_t tracer::process_of(pid_t thread) {
  if (const auto known = threads_.find(thread); known != threads_.end()) return known->second;
  pid_t process = thread;
  for_each_line(read_file(proc(thread, "/status")), [&](std::string_view line) {
    if (take_word(line) == "Tgid:") process = parse_number<pid_t>(take_word(line)).value_or(thread);
  });
  return threads_[thread] = process;
}

bool tracer::is_last(pid_t process) const {
  return std::count_if(threads_.begin(), threads_.end(),
                       [&](const auto& thread) { return thread.second == process; }) == 1;
}

image& tracer::image_of(pid_t process) {
  if (const auto known = current_image_.find(process); known != current_image_.end())
    return images_[known->second];
  const std::string executable = proc(process, "/exe");
  current_image_[process] = images_.size();
  return images_.emplace_back(image{.executable = read_link(executable),
                                    .is_static = !is_dynamic(executable),
                                    .is_privileged = gains_privilege(executable)});
}

/// The thread that called exec now has the process's id; the other threads are gone.
void tracer::program_replaced(pid_t process) {
  std::erase_if(threads_, [&](const auto& thread) { return thread.second == process; });
  threads_[process] = process;
  if (const auto known = current_image_.find(process); known != current_image_.end()) {
    images_[known->second].replaced = true;
    current_image_.erase(known);
  }
  image_of(process);
}

/// The maps are most complete at the end of the last thread. But the leader may end last without a stop, and exit_group ends all threads
/// at once. So the maps are read at the ends of the first thread, the leader and the last thread, and the latest reading counts.
void tracer::about_to_exit(pid_t thread) {
  const pid_t process = process_of(thread);
  image& program = image_of(process);
  program.cpu = cpu_seconds(process);
  program.name = short_name(process);
  if (!program.readable || thread == process || is_last(process)) {
    auto files = mapped_files(read_file(proc(thread, "/maps")));
    if (!files.empty()) program.maps = std::move(files), program.readable = true;
  }
  if (is_loader(program.executable) && program.maps.size() > 1) program.is_static = false;
}

void tracer::forget(pid_t thread) {
  if (thread == process_of(thread)) current_image_.erase(thread);
  threads_.erase(thread);
  stopped_.erase(thread);
}

}  // namespace corescale::probe
