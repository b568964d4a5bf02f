// SPDX-License-Identifier: Apache-2.0
#include "spawner/supervise.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "kernel/clock.hpp"
#include "kernel/descriptors.hpp"
#include "kernel/file.hpp"
#include "kernel/process_tree.hpp"

namespace corescale::probe {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();
constexpr double look_share = 0.005;    // share of one core that looking at the tree may take
constexpr double first_look = 0.01;     // seconds; a look at one process takes 50 us of another core
constexpr double kill_patience = 10;    // seconds
constexpr double blind_patience = 0.5;  // seconds, if nothing can be examined
constexpr double reap_share = 0.1;      // seconds of reaping before each search for processes that still run

sigset_t watched_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGCONT}) sigaddset(&set, signal);
  return set;
}

/// The next watched signal, or one with number 0 at `until`.
siginfo_t next_signal(double until) {
  const sigset_t watched = watched_signals();
  const double wait = std::clamp(until - monotonic(), 0.0, 1e6);
  const auto whole = static_cast<time_t>(wait);
  const timespec span{whole, static_cast<long>((wait - static_cast<double>(whole)) * 1e9)};
  siginfo_t signal{};
  return sigtimedwait(&watched, &signal, &span) > 0 ? signal : siginfo_t{};
}

/// Whether a SIGCONT is pending. If the program's end was seen since the last signal was received, this process was stopped meanwhile:
/// otherwise it would have received the SIGCONT before. Ask after reaping, which a stop may interrupt.
bool told_to_go_on() {
  sigset_t pending;
  return sigpending(&pending) == 0 && sigismember(&pending, SIGCONT) == 1;
}

/// A file opened later must not become one of the first three.
void occupy_standard_files() {
  while (true) {
    const int file = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (file < 0 || file > 2) return void(close(file));
  }
}

bool reader_gone(int report) {
  pollfd ended{report, 0, 0};
  return poll(&ended, 1, 0) == 1 && (ended.revents & POLLERR) != 0;
}

/// Whether a process has ended, reaped or not; 0 is none.
bool is_gone(pid_t process) {
  if (process == 0) return false;
  const descriptor held(static_cast<int>(syscall(SYS_pidfd_open, process, 0)));
  if (!held) return errno == ESRCH;
  pollfd ended{held.get(), POLLIN, 0};
  return poll(&ended, 1, 0) == 1;
}

/// If a process of the launch traces the main process, the kernel notifies that tracer first of the main process's end, and the tracer
/// may ignore it. So this kills the tracer.
bool end_tracer_of_ended(const reaping& children) {
  const pid_t tracer = tracer_of_zombie(children.main());
  return tracer != 0 && tracer != getpid() && is_descendant(tracer) && kill(tracer, SIGKILL) == 0;
}

/// Decides when to sample the tree. The first samples come early, for short programs; then the interval grows up to the one asked for, or
/// beyond it if samples are expensive.
class watch {
 public:
  watch(const arguments& asked, double started)
      : interval_(asked.sample_ms > 0 ? 1e-3 * static_cast<double>(asked.sample_ms) : 1.0),
        pause_(std::min(first_look, interval_)),
        next_(started + pause_) {}
  double next() const { return next_; }
  void look(const std::function<void()>& at_tree) {
    const double before = monotonic();
    at_tree();
    const double after = monotonic();
    pause_ = std::min(interval_, 2 * pause_);
    next_ = after + std::max(pause_, (after - before) / look_share);
  }

 private:
  double interval_, pause_, next_;
};

verdict wait_for_end(const arguments& asked, reaping& children, double started, int report,
                     const std::function<void()>& look, bool& stopped, int& asked_by_program) {
  const double deadline = asked.timeout > 0 ? started + asked.timeout : never;
  watch eyes(asked, started);
  for (;;) {
    const siginfo_t received = next_signal(children.has_more() ? 0 : std::min(deadline, eyes.next()));
    const double now = monotonic();
    const int signal = received.si_signo;
    const bool to_end = signal != 0 && signal != SIGCHLD && signal != SIGCONT;
    if (to_end && is_descendant(received.si_pid)) asked_by_program = signal;  // while the sender is unreaped
    children.drain(now);
    stopped = stopped || (children.ended() && told_to_go_on());
    if (children.ended()) return verdict::exited;
    if (getppid() != asked.parent) return verdict::cancelled;
    if (to_end) return verdict::cancelled;
    if (now >= deadline) return verdict::timed_out;
    if (now < eyes.next()) continue;
    if (reader_gone(report) || is_gone(asked.beside)) return verdict::cancelled;
    eyes.look(look);
    stopped = end_tracer_of_ended(children) || stopped;  // it sees the end late
  }
}

/// Lets the main program end by itself after SIGTERM.
void ask_to_end(reaping& children, double grace) {
  if (grace <= 0 || children.ended()) return;
  kill(children.main(), SIGTERM);
  const double deadline = monotonic() + grace;
  while (!children.ended() && monotonic() < deadline) {
    next_signal(std::min(deadline, monotonic() + 0.05));
    children.drain(monotonic());
  }
}

/// Reaps what has ended, but for a limited time: examining thousands of dead children takes as long as reaping them.
void reap(reaping& children) {
  const double until = monotonic() + reap_share;
  do children.drain(monotonic());
  while (children.has_more() && monotonic() < until);
}

/// Kills the program and its process group by number, for when there are no descriptors to find more processes. Until the program is
/// reaped, no other process can get its number.
void kill_by_number(const reaping& children) {
  if (children.ended()) return;
  kill(-children.main(), SIGKILL);
  kill(children.main(), SIGKILL);
}

/// Kills until there are no children. A process that is just being created escapes one round, but not the next. Chains of processes that
/// fork and end escape every round, but not the killing of their group.
std::set<pid_t> kill_all(reaping& children, const std::function<void()>& kill_group) {
  std::set<pid_t> killed;
  for (const double deadline = monotonic() + (can_look() ? kill_patience : blind_patience);
       !children.childless() && monotonic() < deadline;) {
    kill_group();
    const auto reached = kill_descendants();
    killed.insert(reached.begin(), reached.end());
    if (reached.empty()) kill_by_number(children);
    reap(children);
    if (children.childless()) break;
    next_signal(monotonic() + 0.002);
    reap(children);
  }
  return killed;
}

}  // namespace

void become_supervisor() {
  occupy_standard_files();
  mark_close_on_exec(3);
  setsid();
  signal(SIGCHLD, SIG_DFL);  // if it were ignored, there would be nothing to wait for
  sigset_t blocked = watched_signals();
  sigaddset(&blocked, SIGPIPE);
  sigprocmask(SIG_SETMASK, &blocked, nullptr);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  prctl(PR_SET_PDEATHSIG, SIGCONT);  // reaches one that the program has stopped, too
}

supervised supervise(const arguments& asked, reaping& children, double started, int report,
                     const std::function<void()>& look, const std::function<void()>& at_end,
                     const std::function<void()>& kill_group) {
  bool stopped = false;
  int asked_by_program = 0;
  const verdict why = wait_for_end(asked, children, started, report, look, stopped, asked_by_program);
  const double when = monotonic();
  const int halted = why == verdict::timed_out ? stopped_descendants() : 0;
  at_end();
  ask_to_end(children, asked.grace);
  const int before = children.killed();
  auto killed = kill_all(children, kill_group);
  killed.erase(children.main());
  auto survivors = children.childless() ? std::vector<pid_t>() : running_descendants();
  const bool unseen = !children.childless() && !can_look();
  for (const pid_t alive : survivors) killed.erase(alive);
  const int leftovers = std::max(static_cast<int>(killed.size()), children.killed() - before);
  return {why, when, leftovers, std::move(survivors), unseen, stopped, halted, asked_by_program};
}

}  // namespace corescale::probe
