// SPDX-License-Identifier: Apache-2.0
// The contract of a handler of processes' ends, and its smallest implementation.
#pragma once

#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>

#include <optional>

#include "kernel/accounts.hpp"

namespace corescale::probe {

struct main_end {
  double at;
  int status;
};

class reaping {
 public:
  explicit reaping(pid_t main) : main_(main) {}
  virtual ~reaping() = default;
  /// Handles events of children, without waiting. It handles a limited number per call, because new events may come as fast. `now`: the
  /// time at which the spawner was notified. The main process is the oldest child, so it is handled first if it had ended by then.
  virtual void drain(double now) = 0;
  /// Whether drain() left children to handle.
  bool has_more() const { return has_more_; }

  pid_t main() const { return main_; }
  const std::optional<main_end>& ended() const { return ended_; }
  /// The number of other processes that were reaped and that SIGKILL had ended.
  int killed() const { return killed_; }
  /// Whether no child is left, living or dead.
  bool childless() const { return childless_; }
  accounts& used() { return used_; }

 protected:
  void book(pid_t zombie, int status, const rusage& usage, double now) {
    used_.book(zombie, usage);
    if (zombie == main_) ended_ = main_end{now, status};
    if (zombie != main_ && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) ++killed_;
  }
  static constexpr int at_once = 100;
  accounts used_;
  bool childless_ = false, has_more_ = false;

 private:
  pid_t main_;
  std::optional<main_end> ended_;
  int killed_ = 0;
};

/// Examines each zombie a last time, then reaps it.
class plain_reaping final : public reaping {
 public:
  using reaping::reaping;
  void drain(double now) override;
};

}  // namespace corescale::probe
