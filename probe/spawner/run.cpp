// SPDX-License-Identifier: Apache-2.0
#include "spawner/run.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "kernel/cgroup.hpp"
#include "kernel/clock.hpp"
#include "kernel/cpu_time.hpp"
#include "kernel/file.hpp"
#include "kernel/process_tree.hpp"
#include "kernel/tree_group.hpp"
#include "spawner/launch.hpp"
#include "spawner/supervise.hpp"

namespace corescale::probe {
namespace {

/// What else the machine did between the construction of this object and end().
class noise {
 public:
  explicit noise(const std::vector<int>& cpus) : cpus_(cpus) {}
  void end() {
    after_ = cpu_time_now(cpus_);
    throttled_seconds_ = throttled_.seconds();
    spawner_ = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - spawner_;
  }
  /// Call it once the launch's own time is known.
  void describe(report& result) const {
    result.steal = after_.steal - before_.steal;
    result.throttled = throttled_seconds_;
    result.foreign = foreign(result, busy_between(before_, after_, cpus_.size()));
  }

 private:
  /// The CPUs' busy time without the launch's own, minus a tick for each CPU, because that is the resolution. Empty if either time is not
  /// known.
  std::optional<double> foreign(const report& result, std::optional<double> busy) const {
    const std::string_view kind = result.cpu_kind;
    if (kind == "sampled" || cpus_.empty() || !busy) return {};
    const double own = result.user + result.system + spawner_;
    return std::max(0.0, *busy - own - static_cast<double>(cpus_.size()) * tick_seconds());
  }

  std::vector<int> cpus_;
  cpu_time before_ = cpu_time_now(cpus_), after_ = before_;
  double spawner_ = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
  throttling throttled_;
  double throttled_seconds_ = 0;
};

void describe_end(report& result, const supervised& outcome, int status) {
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  result.status = outcome.why == verdict::timed_out   ? "timeout"
                  : outcome.why == verdict::cancelled ? "cancelled"
                  : WIFSIGNALED(status)               ? "signal"
                  : WEXITSTATUS(status) == 0          ? "ok"
                                                      : "failed";
}

/// The group's account includes every process that stayed in the group. Without a group, the time of reaped processes counts, unless the
/// samples show more. If the reaped processes used more than the group, some process left it, and both accounts are lower bounds.
void describe_cpu(report& result, const tree_group* group) {
  constexpr double rounding = 0.005;  // seconds; the samples count from the execution, rusage from the fork
  // The group also counts the end of the program's threads. By that, its time exceeds that of reaped processes by at most this factor.
  constexpr double of_exits = 1.2;
  const accounts& used = result.used;
  result.user = used.user(), result.system = used.system();
  const double reaped = result.user + result.system;
  const auto all = group ? group->cpu_seconds() : std::nullopt;
  const double accounted = std::max(reaped, all.value_or(0));
  const double sampled = used.schedule().value_or(schedule_times{}).on_cpu;
  const bool missed = sampled > accounted + rounding;
  result.user += (missed ? sampled : accounted) - reaped;
  constexpr double apart = 1.01;  // the kernel rounds both accounts
  const bool outside = all && reaped > apart * *all + rounding;
  const bool escaped = all ? used.left_group() || outside : used.children_undetected();
  result.cpu_kind = missed || escaped ? "sampled" : all ? "group" : "reaped";
  result.unreaped = missed || accounted > of_exits * reaped + rounding || used.children_undetected();
}

/// This program's own peak in bytes. Its ru_maxrss also counts the process from which it was forked.
std::uint64_t own_peak() { return 1024 * statistic("/proc/self/status", "VmHWM:").value_or(0); }

/// The kernel counts resident pages on each CPU, files and anonymous memory apart. It adds a CPU's count to the process's
/// only when that reaches a batch, and ru_maxrss has no more than the process's.
std::uint64_t counting_error(std::size_t cpus) {
  constexpr long kinds = 2, least = 32;
  const long batch = std::max(least, 2 * sysconf(_SC_NPROCESSORS_ONLN));  // percpu_counter_batch of Linux
  return static_cast<std::uint64_t>(kinds * (batch - 1) * sysconf(_SC_PAGESIZE)) * cpus;
}

/// If the samples show a time or size that no reaped process accounts for, a process ended undetected, and its peak is unknown too.
void describe_memory(report& result, std::uint64_t group_peak, bool survivors) {
  constexpr std::uint64_t rounding = 1 << 20;  // the kernel counts pages of each CPU in batches
  const accounts& used = result.used;
  const std::uint64_t largest = used.largest_peak(), sum = used.anonymous_peak();
  const bool missed = used.resident_peak() > largest + rounding;
  result.peak_memory = missed ? used.resident_peak() : largest;
  result.peak_memory_kind = missed || survivors || result.unreaped ? "sampled" : "process";
  result.peak_memory_error = counting_error(result.affinity.size());
  result.tree_memory = group_peak > 0 ? group_peak : sum;
  result.tree_memory_kind = group_peak > 0 ? "group" : sum > 0 ? "sum" : "none";
}

/// One launch, from the child's birth to the last process's end.
class follower {
 public:
  follower(const arguments& asked, const channels& io, tree_group* group, noise& around)
      : asked_(asked), io_(io), group_(group), around_(around) {}

  void follow(report& result, const launched& child, reaping& children, int report_file) {
    const birth& born = child.birth_record();
    children.used().introduce(child.pid(), child.path(), born.schedstat);
    if (group_ && !group_->name().empty()) children.used().expect_in(group_->name());
    const double begun = born.started > 0 ? born.started : monotonic();
    const auto look = [&] { this->look(children.used()); };
    const auto at_end = [&] { around_.end(); };
    const auto kill_group = [&] {
      if (group_) group_->kill();
    };
    const supervised outcome = supervise(asked_, children, begun, report_file, look, at_end, kill_group);
    if (born.failed_step) throw start_failure{born.failed_step, born.error};
    const main_end end = children.ended().value_or(main_end{monotonic(), SIGKILL});
    result.wall = (outcome.why == verdict::exited ? end.at : outcome.when) - born.started;
    result.leftovers = outcome.leftovers, result.survivors = outcome.survivors;
    result.unseen = outcome.unseen;
    result.stopped = outcome.stopped, result.halted = outcome.halted;
    result.asked_by_program = outcome.asked_by_program;
    result.used = children.used();
    describe_end(result, outcome, end.status);
    describe_cpu(result, group_);
    describe_memory(result, group_peak_, !outcome.survivors.empty());
    around_.describe(result);
  }

 private:
  void look(accounts& used) {
    if (asked_.sample_ms > 0) {
      used.sample();
      for (const pid_t spawner : used.seen_running(own_executable_)) continue_stopped(spawner);
      if (group_) group_peak_ = std::max(group_peak_, group_->anonymous().value_or(0));
    }
    io_.trim();
  }

  const arguments& asked_;
  const channels& io_;
  tree_group* group_;
  noise& around_;
  std::uint64_t group_peak_ = 0;
  /// Each rank also has a spawner, which its program may stop. Only this spawner can continue it.
  std::string own_executable_ = read_link("/proc/self/exe");
};

void start_and_follow(report& result, const arguments& asked, const channels& io, int report_file) {
  const auto group = asked.groups ? std::make_unique<tree_group>() : nullptr;
  noise around(result.affinity);
  result.started = seconds_of(CLOCK_REALTIME);
  launched child = launch(asked, io, {.traced = asked.prove, .birthplace = group ? group->birthplace() : -1});
  result.peak_memory_floor = own_peak();
  if (group && !child.in_group()) group->disown();
  follower launch(asked, io, group.get(), around);
  if (asked.prove) {
    tracer children(child);
    launch.follow(result, child, children, report_file);
    result.proof = children.images();
  } else {
    plain_reaping children(child.pid());
    launch.follow(result, child, children, report_file);
  }
}

}  // namespace

report run(const arguments& asked, int report_file) {
  report result;
  result.started = seconds_of(CLOCK_REALTIME);
  result.affinity = asked.affinity.empty() ? affinity_of(0) : asked.affinity;
  try {
    const channels io(asked);
    start_and_follow(result, asked, io, report_file);
    result.tail = io.tail();
    if (const char* full = io.full()) result.failure = start_failure{full, ENOSPC};
  } catch (const start_failure& failure) {
    result.failure = failure;
  }
  return result;
}

}  // namespace corescale::probe
