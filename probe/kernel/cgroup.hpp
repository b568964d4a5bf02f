// SPDX-License-Identifier: Apache-2.0
// Where this process sits in the control groups, version 1, 2 or both side by side.
#pragma once

#include <cstdint>
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

/// The group whose `controller` governs the process, from the texts of its mountinfo and cgroup files.
std::optional<cgroup_place> locate_cgroup(std::string_view controller, std::string_view mountinfo,
                                          std::string_view memberships);

/// The same for this process.
std::optional<cgroup_place> own_cgroup(std::string_view controller);

/// A memory group of its own for whatever this process starts from now on; inert where none can be made.
///
/// The peak counts anonymous memory, page cache and kernel memory charged to the group. Entering can take
/// milliseconds, so construct it before any clock starts. Version 2 forbids a group to hold processes beside
/// groups with controllers, so there it works only from the root group: elsewhere it is inert.
class memory_group {
 public:
  /// `limit` in bytes; 0 is none.
  explicit memory_group(std::uint64_t limit);
  memory_group(const memory_group&) = delete;
  memory_group& operator=(const memory_group&) = delete;
  /// Goes back where it came from and removes the group, which must be empty by then.
  ~memory_group();

  bool active() const { return !directory_.empty(); }
  /// Whether the kernel took the limit.
  bool limited() const { return limited_; }
  /// Bytes.
  std::optional<std::uint64_t> peak() const;

 private:
  bool enter(const cgroup_place& place);
  std::string parent_;
  std::string directory_;
  int version_ = 0;
  bool limited_ = false;
};

/// Seconds that a CPU quota held this group or one around it back, since it exists.
double throttled_seconds();

}  // namespace corescale::probe
