// SPDX-License-Identifier: Apache-2.0
#include "spawner/run.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "kernel/cgroup.hpp"
#include "kernel/clock.hpp"
#include "kernel/cpu_time.hpp"
#include "kernel/tree_group.hpp"
#include "spawner/launch.hpp"
#include "spawner/supervise.hpp"

namespace corescale::probe {
namespace {

/// What else the machine did since its construction.
class noise {
 public:
  explicit noise(const std::vector<int>& cpus) : cpus_(cpus) {}
  void finish(report& result) const {
    const cpu_time after = cpu_time_now(cpus_);
    result.steal = after.steal - before_.steal;
    result.throttled = throttled_.seconds();
    result.foreign = foreign(result, busy_between(before_, after, cpus_.size()));
  }

 private:
  /// A tick of each CPU less than what is left: no CPU's time is known better. Nothing where the launch's own
  /// or that of the CPUs is not known.
  std::optional<double> foreign(const report& result, std::optional<double> busy) const {
    const std::string_view kind = result.cpu_kind;
    if (kind == "sampled" || cpus_.empty() || !busy) return {};
    const double own = result.user + result.system + seconds_of(CLOCK_PROCESS_CPUTIME_ID) - spawner_;
    return std::max(0.0, *busy - own - static_cast<double>(cpus_.size()) * tick_seconds());
  }

  std::vector<int> cpus_;
  cpu_time before_ = cpu_time_now(cpus_);
  double spawner_ = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
  throttling throttled_;
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

/// The group's account misses nobody. Else what was reaped, unless the samples alone show more.
void describe_cpu(report& result, const tree_group* group) {
  constexpr double rounding = 0.005;  // seconds; the samples count from the execution, rusage from the fork
  const accounts& used = result.used;
  result.user = used.user(), result.system = used.system();
  const double reaped = result.user + result.system;
  if (const auto all = group ? group->cpu_seconds() : std::nullopt) {
    result.user += std::max(0.0, *all - reaped), result.cpu_kind = "group";
    return;
  }
  const double sampled = used.schedule().value_or(schedule_times{}).on_cpu;
  const bool missed = sampled > reaped + rounding;
  if (missed) result.user += sampled - reaped;
  result.cpu_kind = missed || used.children_unheard() ? "sampled" : "reaped";
}

/// The best kind that can be known here.
void describe_memory(report& result, std::uint64_t group_peak) {
  const std::uint64_t sum = result.used.anonymous_peak();
  result.peak_memory = group_peak > 0 ? group_peak : sum > 0 ? sum : result.used.largest_peak();
  result.peak_memory_kind = group_peak > 0 ? "anonymous" : sum > 0 ? "anonymous-sum" : "process";
}

void describe_output(report& result, const channels& io) {
  result.stdout_bytes = io.output_bytes();
  result.tail = io.errors_tail();
  result.stdout_tail = io.output_tail();
}

/// One launch, from the child's birth to the last process's end.
class follower {
 public:
  follower(const arguments& asked, const channels& io, tree_group* group)
      : asked_(asked), io_(io), group_(group) {}

  void follow(report& result, const launched& child, reaping& children, int report_file) {
    const birth& told = child.told();
    children.used().introduce(child.pid(), child.path(), told.schedstat);
    const double begun = told.started > 0 ? told.started : monotonic();
    const auto look = [&] { this->look(children.used()); };
    const supervised outcome = supervise(asked_, children, begun, report_file, look);
    if (told.failed_step) throw start_failure{told.failed_step, told.error};
    const main_end end = children.ended().value_or(main_end{monotonic(), SIGKILL});
    result.wall = end.at - told.started;
    result.leftovers = outcome.leftovers, result.survivors = outcome.survivors;
    result.used = children.used();
    describe_end(result, outcome, end.status);
    describe_cpu(result, group_);
    describe_memory(result, group_peak_);
  }

 private:
  void look(accounts& used) {
    if (asked_.sample_ms > 0) {
      used.sample();
      if (group_) group_peak_ = std::max(group_peak_, group_->anonymous().value_or(0));
    }
    io_.trim();
  }

  const arguments& asked_;
  const channels& io_;
  tree_group* group_;
  std::uint64_t group_peak_ = 0;
};

void start_and_follow(report& result, const arguments& asked, const channels& io, int report_file) {
  const auto group = asked.groups ? std::make_unique<tree_group>(asked.limit_memory) : nullptr;
  const noise before(result.affinity);
  result.started = seconds_of(CLOCK_REALTIME);
  launched child = launch(asked, io,
                          {.limit_data = asked.limit_memory > 0 && !(group && group->limited()),
                           .traced = asked.prove,
                           .birthplace = group ? group->birthplace() : -1});
  if (group && !child.in_group()) group->disown();
  follower launch(asked, io, group.get());
  if (asked.prove) {
    tracer children(child);
    launch.follow(result, child, children, report_file);
    result.proof = children.images();
  } else {
    plain_reaping children(child.pid());
    launch.follow(result, child, children, report_file);
  }
  before.finish(result);
}

}  // namespace

report run(const arguments& asked, int report_file) {
  report result;
  result.started = seconds_of(CLOCK_REALTIME);
  result.affinity = asked.affinity.empty() ? affinity_of(0) : asked.affinity;
  try {
    const channels io(asked);
    start_and_follow(result, asked, io, report_file);
    describe_output(result, io);
  } catch (const start_failure& failure) {
    result.failure = failure;
  }
  return result;
}

}  // namespace corescale::probe
