// SPDX-License-Identifier: Apache-2.0
// Control groups for all that one launch starts: what the kernel books for them includes every process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kernel/cgroup.hpp"
#include "kernel/file.hpp"

namespace corescale::probe {

/// Inert if no group can be made. Groups are made below this process's own, so that every limit above still binds. The memory limit is also
/// written into them.
/// Version 2: the program is born in the group, which costs nothing. CPU time is always booked there. Memory is booked if the memory
/// controller is available; below a group that has processes of its own it is not, except below the root. Version 1 is used only for
/// memory: this process enters the group, which can take milliseconds, so construct it before any clock starts.
class tree_group {
 public:
  explicit tree_group(const std::string& root = "");
  tree_group(const tree_group&) = delete;
  tree_group& operator=(const tree_group&) = delete;
  /// Moves this process back to its group, and removes the groups, which must be empty by then.
  ~tree_group();

  /// The descriptor of the group in which clone3 is to start a child; -1: the child starts in its parent's group.
  int birthplace() const { return birthplace_.get(); }
  /// Call it if the child could not be started there.
  void disown();
  /// The name of the version 2 group; empty: none.
  std::string name() const { return unified_.substr(unified_.rfind('/') + 1); }
  /// Seconds of all processes that were ever in the group.
  std::optional<double> cpu_seconds() const;
  /// Kills every process in the group at once, if the kernel can (5.14 and later). Opens no file for it.
  void kill() const;
  /// Bytes now: anonymous pages of all processes, each once, and none of files or of the page cache.
  std::optional<std::uint64_t> anonymous() const;

 private:
  void make_unified(const cgroup_place& place);
  void enter_memory(const cgroup_place& place);

  std::string unified_;        // directories; empty: none
  std::string memory_parent_;  // of version 1
  std::string memory_;
  descriptor birthplace_, memory_held_, kill_;
};

}  // namespace corescale::probe
