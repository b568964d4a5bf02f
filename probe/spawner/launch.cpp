// SPDX-License-Identifier: Apache-2.0
#include "spawner/launch.hpp"

#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cerrno>
#include <memory>

#include "kernel/clock.hpp"
#include "kernel/cpu_mask.hpp"
#include "spawner/failure.hpp"
#include "text/cpu_list.hpp"

namespace corescale::probe {
namespace {

/// All that the child needs, made beforehand: it shares the spawner's memory and must neither allocate nor
/// return.
struct child_plan {
  std::string path;
  std::vector<char*> argv, envp;
  int files[3];
  /// Null: as inherited.
  cpu_mask* affinity;
  pid_t spawner;
  /// Read until it ends or gives a byte; -1: none.
  int gate;
  /// The one descriptor above 2 that the program inherits; -1: none.
  int handed_on;
  birth* tells;
};

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  result.reserve(strings.size() + 1);
  for (auto& text : strings) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

[[noreturn]] void give_up(const child_plan& plan, const char* step) {
  plan.tells->error = errno;
  plan.tells->failed_step = step;
  _exit(127);
}

const char* exec_step(const char* path) {
  const int error = errno;
  const bool exists = access(path, F_OK) == 0;
  errno = error;
  return error != ENOENT ? "exec" : exists ? "interpreter" : "find";
}

template <std::size_t size>
void read_schedstat(char (&text)[size]) {
  const int file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  if (read(file, text, size - 1) < 0) text[0] = '\0';
  close(file);
}

void take_files(const child_plan& plan) {
  for (int target = 0; target < 3; ++target)
    if (dup2(plan.files[target], target) < 0) give_up(plan, "process");
  if (plan.handed_on >= 0) fcntl(plan.handed_on, F_SETFD, 0);
}

/// Makes a new process group in the spawner's session, so that a program may call setpgid, as under a shell.
int run_child(void* argument) {
  const auto& plan = *static_cast<const child_plan*>(argument);
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != plan.spawner) _exit(127);
  take_files(plan);
  if (plan.affinity && sched_setaffinity(0, plan.affinity->bytes(), plan.affinity->data()) != 0)
    give_up(plan, "affinity");
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  char go;
  if (plan.gate >= 0 && read(plan.gate, &go, 1) != 1) _exit(127);
  read_schedstat(plan.tells->schedstat);
  plan.tells->started = monotonic();
  execve(plan.path.c_str(), plan.argv.data(), plan.envp.data());
  give_up(plan, exec_step(plan.path.c_str()));
}

/// Memory that is shared even with a child that has a copy of all other memory.
birth* shared_birth() {
  void* memory = mmap(nullptr, sizeof(birth), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw start_failure{"process", errno};
  return new (memory) birth;
}

struct pipe_ends {
  descriptor reader, writer;
};

pipe_ends open_gate() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw start_failure{"process", errno};
  return {descriptor(ends[0]), descriptor(ends[1])};
}

/// The child is born in the group, because moving it costs milliseconds. It cannot share the spawner's
/// memory, because the C library has no call for both. -1 if the kernel (before 5.7) or a missing right
/// forbids it.
pid_t start_in_group(child_plan& plan, const launch_manner& how) {
#ifdef CLONE_INTO_CGROUP
  clone_args asked{};
  asked.flags = CLONE_INTO_CGROUP | (how.traced ? 0 : CLONE_VFORK);
  asked.exit_signal = SIGCHLD;
  asked.cgroup = static_cast<std::uint64_t>(how.birthplace);
  const auto child = static_cast<pid_t>(syscall(SYS_clone3, &asked, sizeof asked));
  if (child == 0) _exit(run_child(&plan));
  return child;
#else
  return static_cast<void>(plan), static_cast<void>(how), -1;
#endif
}

/// A tracer must attach before the program runs, so a traced child must not suspend the spawner, as vfork would.
pid_t start_beside(child_plan& plan, bool traced) {
  constexpr std::size_t stack_bytes = 64 << 10;
  const auto stack = std::make_unique<char[]>(stack_bytes);
  const int sharing = traced ? 0 : CLONE_VM | CLONE_VFORK;
  const pid_t child = clone(run_child, stack.get() + stack_bytes, sharing | SIGCHLD, &plan);
  if (child < 0) throw start_failure{"process", errno};
  return child;
}

/// The socket by which a rank asks its launcher for the other ranks (PMI). Without it each rank would be alone. -1: none.
int socket_of_rank(const std::vector<std::string>& environment) {
  constexpr std::string_view name = "PMI_FD=";
  for (const auto& variable : environment) {
    if (!variable.starts_with(name)) continue;
    const int file = parse_number<int>(std::string_view(variable).substr(name.size())).value_or(-1);
    struct stat status {};
    if (file > 2 && fstat(file, &status) == 0 && S_ISSOCK(status.st_mode)) return file;
  }
  return -1;
}

bool is_program(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && access(path.c_str(), X_OK) == 0;
}

std::string search_path(const std::vector<std::string>& environment) {
  for (const auto& variable : environment)
    if (variable.starts_with("PATH=")) return variable.substr(5);
  return "/usr/local/bin:/usr/bin:/bin";
}

}  // namespace

std::vector<std::string> environment_of(const arguments& asked) {
  std::vector<std::string> variables;
  std::string_view rest = asked.inherited;
  for (std::size_t end; (end = rest.find('\0')) != rest.npos; rest.remove_prefix(end + 1))
    variables.emplace_back(rest.substr(0, end));
  for (char** variable = environ; asked.inherited.empty() && *variable; ++variable)
    variables.emplace_back(*variable);
  for (const auto& change : asked.environment) {
    const std::string start = change.first + "=";
    std::erase_if(variables, [&](const std::string& variable) { return variable.starts_with(start); });
    if (change.second) variables.push_back(start + *change.second);
  }
  return variables;
}

std::string find_program(const std::string& command, const std::vector<std::string>& environment) {
  if (command.find('/') != command.npos) return command;
  int error = ENOENT;
  std::string_view rest;
  const std::string directories = search_path(environment);
  for (rest = directories;; rest.remove_prefix(rest.find(':') + 1)) {
    const auto directory = rest.substr(0, rest.find(':'));
    auto candidate = (directory.empty() ? "." : std::string(directory)) + "/" + command;
    if (is_program(candidate)) return candidate;
    if (access(candidate.c_str(), F_OK) == 0) error = EACCES;
    if (rest.find(':') == rest.npos) break;
  }
  throw start_failure{error == EACCES ? "exec" : "find", error};
}

launched launch(const arguments& asked, const channels& io, const launch_manner& how) {
  std::vector<std::string> words = asked.command, variables = environment_of(asked);
  cpu_mask affinity(asked.affinity);
  pipe_ends gate = how.traced ? open_gate() : pipe_ends{};
  child_plan plan{find_program(asked.command[0], variables),
                  pointers(words),
                  pointers(variables),
                  {io.input(), io.output(), io.errors()},
                  asked.affinity.empty() ? nullptr : &affinity,
                  getpid(),
                  gate.reader.get(),
                  socket_of_rank(variables),
                  shared_birth()};
  pid_t child = how.birthplace >= 0 ? start_in_group(plan, how) : -1;
  const bool in_group = child > 0;
  if (!in_group) child = start_beside(plan, how.traced);
  return {child, plan.path, plan.tells, std::move(gate.writer), in_group};
}

void launched::release() {
  write_all(gate_.get(), "g");
  gate_ = descriptor();
}

}  // namespace corescale::probe
