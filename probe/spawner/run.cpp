// SPDX-License-Identifier: Apache-2.0
#include "spawner/run.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "kernel/cgroup.hpp"
#include "kernel/clock.hpp"
#include "kernel/steal.hpp"
#include "spawner/launch.hpp"
#include "spawner/supervise.hpp"

namespace corescale::probe {
namespace {

/// Steal and throttling since its construction.
struct noise {
  double steal = steal_seconds();
  double throttled = throttled_seconds();
  void finish(report& result) const {
    result.steal = steal_seconds() - steal;
    result.throttled = throttled_seconds() - throttled;
  }
};

std::unique_ptr<reaping> reaping_for(const arguments& asked, pid_t main) {
  if (asked.prove) return std::make_unique<tracer>(main);
  return std::make_unique<plain_reaping>(main);
}

void describe_end(report& result, const supervised& outcome, int status) {
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  result.status = outcome.why == verdict::timed_out   ? "timeout"
                  : outcome.why == verdict::cancelled ? "cancelled"
                  : WIFSIGNALED(status)               ? "signal"
                  : WEXITSTATUS(status) == 0          ? "ok"
                                                      : "failed";
}

/// The best that can be known here; the largest exact process bounds a sampled tree from below.
void describe_memory(report& result, const memory_group* group) {
  const std::uint64_t sampled = result.used.sampled_peak(), largest = result.used.largest_peak();
  if (const auto peak = group ? group->peak() : std::nullopt) {
    result.peak_memory = *peak, result.peak_memory_kind = "cgroup";
  } else {
    result.peak_memory = std::max(sampled, largest);
    result.peak_memory_kind = sampled > 0 ? "sampled" : "process";
  }
}

void describe_output(report& result, const channels& io) {
  result.stdout_bytes = io.output_bytes();
  result.tail = io.errors_tail();
  result.stdout_tail = io.output_tail();
}

void follow(report& result, const arguments& asked, const channels& io, const launched& child,
            int report_file) {
  const auto children = reaping_for(asked, child.pid);
  children->used().introduce(child.pid, child.path, child.told->schedstat);
  const double begun = child.told->started > 0 ? child.told->started : monotonic();
  const supervised outcome = supervise(asked, io, *children, begun, report_file);
  if (child.told->failed_step) throw start_failure{child.told->failed_step, child.told->error};
  const main_end end = children->ended().value_or(main_end{monotonic(), SIGKILL});
  result.wall = end.at - child.told->started;
  result.leftovers = outcome.leftovers, result.survivors = outcome.survivors;
  result.used = children->used();
  if (const auto* traced = dynamic_cast<const tracer*>(children.get())) result.proof = traced->images();
  describe_end(result, outcome, end.status);
}

}  // namespace

report run(const arguments& asked, int report_file) {
  report result;
  result.started = seconds_of(CLOCK_REALTIME);
  try {
    const channels io(asked);
    const auto group = asked.memory_group ? std::make_unique<memory_group>(asked.limit_memory) : nullptr;
    const bool limit_data = asked.limit_memory > 0 && !(group && group->limited());
    const noise before;
    result.started = seconds_of(CLOCK_REALTIME);
    const launched child = launch(asked, io, limit_data, asked.prove);
    follow(result, asked, io, child, report_file);
    before.finish(result);
    describe_memory(result, group.get());
    describe_output(result, io);
    result.affinity = asked.affinity.empty() ? affinity_of(0) : asked.affinity;
  } catch (const start_failure& failure) {
    result.failure = failure;
  }
  return result;
}

}  // namespace corescale::probe
