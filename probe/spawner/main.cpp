// SPDX-License-Identifier: Apache-2.0
// corescale-spawn: starts one program, leaves nothing running, and reports what it used as one line of JSON.
// Exit status: 0 reported, 1 the report could not be written, 2 the options are wrong, 3 reported, but something is left that could not be
// examined, so the parent must end it. If the program sends it a signal to end, it first reports, then ends by that signal.
#include <signal.h>
#include <stdio.h>
#include <sys/types.h>

#include <cerrno>
#include <cstring>

#include "kernel/file.hpp"
#include "spawner/arguments.hpp"
#include "spawner/run.hpp"
#include "spawner/supervise.hpp"
#include "text/cpu_list.hpp"

namespace {

using namespace corescale::probe;

/// A number is a descriptor that the caller left open.
descriptor open_report(const std::string& target) {
  if (const auto number = parse_number<int>(target)) return descriptor(fcntl(*number, F_DUPFD_CLOEXEC, 3));
  return descriptor(open(target.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
}

int complain(const char* what, const char* why, int status) {
  fprintf(stderr, "corescale-spawn: %s%s%s\n", what, *why ? ": " : "", why);
  return status;
}

void die_of(int number) {
  signal(number, SIG_DFL);
  raise(number);
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_UNBLOCK, &all, nullptr);
}

int spawn(arguments asked) {
  const pid_t parent = getppid();
  if (asked.parent == 0) asked.parent = parent;
  const descriptor output = open_report(asked.report);
  if (!output) return complain(asked.report.c_str(), strerror(errno), 2);
  become_supervisor();
  if (getppid() != asked.parent) return complain("the parent is gone", "", 1);
  const report result = run(asked, output.get());
  if (!write_all(output.get(), to_json(result))) return complain(asked.report.c_str(), strerror(errno), 1);
  if (result.asked_by_program != 0) die_of(result.asked_by_program);
  return result.unseen ? 3 : 0;
}

}  // namespace

int main(int count, char** words) try {
  return spawn(parse_arguments({words + 1, words + count}));
} catch (const usage_error& error) {
  complain(error.what(), "", 2);
  fputs(usage(), stderr);
  return 2;
}
