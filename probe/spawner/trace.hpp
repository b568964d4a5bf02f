// SPDX-License-Identifier: Apache-2.0
// Follows every process and thread of the tree by ptrace and reads what each program had mapped at its end.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "spawner/launch.hpp"
#include "spawner/reaping.hpp"

namespace corescale::probe {

/// One program that a process of the tree ran.
struct image {
  std::string executable;
  /// The kernel's short name at its end, which a program may choose.
  std::string name{};
  /// Whether it has no dynamic loader, so that nothing can be preloaded.
  bool is_static = false;
  /// Whether it is set-user-id or set-group-id, or has file capabilities. The loader then ignores preloads from the environment.
  bool is_privileged = false;
  /// Whether it executed another program in the same process, so that its maps are unknown. The other program has its own entry.
  bool replaced = false;
  /// Whether maps could be read, which a kill -9 or missing rights can prevent.
  bool readable = false;
  /// Seconds of CPU time that the process had used at its end, including programs that ran in it before an exec.
  double cpu = 0;
  /// The files mapped at its end, in address order, once each.
  std::vector<std::string> maps{};
};

class tracer final : public reaping {
 public:
  /// Attaches to a child that waits for its release. Throws start_failure if tracing is forbidden.
  explicit tracer(launched& main);

  void drain(double now) override;
  const std::vector<image>& images() const { return images_; }

 private:
  void handle_stop(pid_t thread, int status, double now);
  void go_on(double now);
  void program_replaced(pid_t process);
  void about_to_exit(pid_t thread);
  void forget(pid_t thread);
  image& image_of(pid_t process);
  pid_t process_of(pid_t thread);
  bool is_last(pid_t process) const;

  std::map<pid_t, pid_t> threads_;              // thread -> process, of all that still run
  std::map<pid_t, std::size_t> current_image_;  // process -> index
  std::map<pid_t, double> stopped_;             // thread -> since when
  std::vector<image> images_;
};

}  // namespace corescale::probe
