// SPDX-License-Identifier: Apache-2.0
// The place of this process in the control groups of version 1, version 2, or both.
//
// `root` is put before every path of /proc and of a mount, so that tests can show another machine.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace corescale::probe {

/// The directory of a group below the mount point of its hierarchy.
struct cgroup_place {
  std::string mount;
  std::string below;
  int version = 0;
  std::string directory() const { return mount + below; }
  /// This group's directory and those of all groups around it that can be seen.
  std::vector<std::string> ancestry() const;
};

/// The group whose `controller` governs the process, from the texts of its mountinfo and cgroup files; the
/// version 2 group if `controller` is empty.
std::optional<cgroup_place> locate_cgroup(std::string_view controller, std::string_view mountinfo,
                                          std::string_view memberships);

/// The same for this process.
std::optional<cgroup_place> own_cgroup(std::string_view controller, const std::string& root = "");

/// Whether `names`, a list with `separator`, holds `wanted`.
bool lists(std::string_view names, std::string_view wanted, char separator);

/// The number in the line of a statistics file that begins with `name`; nothing if there is none.
std::optional<std::uint64_t> statistic(const std::string& path, std::string_view name);

/// The time for which CPU quotas have held this process back since construction.
class throttling {
 public:
  explicit throttling(std::string root = "") : root_(std::move(root)), before_(totals()) {}
  /// The longest time, in seconds, for which a group around the process was held back. This is a lower bound, because other groups may have
  /// been held back at other times.
  double seconds() const;

 private:
  std::map<std::string, double> totals() const;
  std::string root_;
  std::map<std::string, double> before_;
};

}  // namespace corescale::probe
