// SPDX-License-Identifier: Apache-2.0
// The contract of what handles the ends of processes, and its smallest implementation.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <optional>

#include "kernel/accounts.hpp"

namespace corescale::probe {

/// How the main program ended.
struct main_end {
  double at;
  int status;
};

class reaping {
 public:
  explicit reaping(pid_t main) : main_(main) {}
  virtual ~reaping() = default;
  /// Handles all that happened to children, without waiting. `now`: when the spawner was told.
  virtual void drain(double now) = 0;

  pid_t main() const { return main_; }
  const std::optional<main_end>& ended() const { return ended_; }
  /// Whether no child is left, living or dead.
  bool childless() const { return childless_; }
  accounts& used() { return used_; }

 protected:
  void book(pid_t zombie, int status, const rusage& usage, double now) {
    used_.book(zombie, usage);
    if (zombie == main_) ended_ = main_end{now, status};
  }
  accounts used_;
  bool childless_ = false;

 private:
  pid_t main_;
  std::optional<main_end> ended_;
};

/// Looks at each zombie a last time, then reaps it.
class plain_reaping final : public reaping {
 public:
  using reaping::reaping;
  void drain(double now) override;
};

}  // namespace corescale::probe
