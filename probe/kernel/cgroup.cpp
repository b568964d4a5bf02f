// SPDX-License-Identifier: Apache-2.0
#include "kernel/cgroup.hpp"

#include <dirent.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "kernel/file.hpp"
#include "text/cpu_list.hpp"

namespace corescale::probe {
namespace {

constexpr std::string_view group_prefix = "corescale-";

bool lists(std::string_view names, std::string_view wanted, char separator) {
  while (!names.empty()) {
    const auto end = names.find(separator);
    if (names.substr(0, end) == wanted) return true;
    names.remove_prefix(end == names.npos ? names.size() : end + 1);
  }
  return false;
}

struct hierarchy {
  std::string root;
  std::string mount;
};

/// One line of mountinfo, where it mounts the hierarchy wanted.
std::optional<hierarchy> hierarchy_of(std::string_view line, std::string_view controller, int version) {
  const auto dash = line.find(" - ");
  if (dash == line.npos) return {};
  std::string_view front = line.substr(0, dash), back = line.substr(dash + 3);
  for (int skipped = 0; skipped < 3; ++skipped) take_word(front);
  const auto root = take_word(front), mount = take_word(front);
  const auto kind = take_word(back);
  take_word(back);
  const bool matches =
      version == 2 ? kind == "cgroup2" : kind == "cgroup" && lists(take_word(back), controller, ',');
  if (!matches) return {};
  return hierarchy{std::string(root), std::string(mount)};
}

std::optional<cgroup_place> place_in(const hierarchy& found, std::string_view path, int version) {
  const std::string_view root = found.root == "/" ? std::string_view() : std::string_view(found.root);
  if (!path.starts_with(root) || path.find("/..") != path.npos) return {};
  path.remove_prefix(root.size());
  return cgroup_place{found.mount, std::string(path == "/" ? "" : path), version};
}

std::uint64_t number_in(const std::string& path) {
  const std::string text = read_file(path);
  std::string_view rest = text;
  return parse_number<std::uint64_t>(take_word(rest)).value_or(0);
}

/// Removes groups whose spawner was killed before it could; those that still hold processes stay.
void sweep(const std::string& parent) {
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(opendir(parent.c_str()),
                                                    [](DIR* d) { return closedir(d); });
  while (const dirent* entry = entries ? readdir(entries.get()) : nullptr) {
    const std::string_view name = entry->d_name;
    if (!name.starts_with(group_prefix)) continue;
    const auto owner = parse_number<pid_t>(name.substr(group_prefix.size()));
    if (owner && kill(*owner, 0) != 0 && errno == ESRCH) rmdir((parent + "/" + entry->d_name).c_str());
  }
}

/// Whether groups below `parent` have the memory controller, switching it on where allowed.
bool governs_memory(const std::string& parent, int version) {
  if (version == 1) return true;
  std::string enabled = read_file(parent + "/cgroup.subtree_control");
  enabled.erase(enabled.find_last_not_of('\n') + 1);
  return lists(enabled, "memory", ' ') || write_file(parent + "/cgroup.subtree_control", "+memory");
}

}  // namespace

std::vector<std::string> cgroup_place::ancestry() const {
  std::vector<std::string> directories;
  for (std::string path = below; !path.empty(); path.erase(path.rfind('/')))
    directories.push_back(mount + path);
  directories.push_back(mount);
  return directories;
}

std::optional<cgroup_place> locate_cgroup(std::string_view controller, std::string_view mountinfo,
                                          std::string_view memberships) {
  std::optional<cgroup_place> place;
  for_each_line(memberships, [&](std::string_view membership) {
    const auto first = membership.find(':'), second = membership.find(':', first + 1);
    if (first == membership.npos || second == membership.npos) return;
    const auto names = membership.substr(first + 1, second - first - 1);
    const int version = names.empty() ? 2 : 1;
    if ((version == 1 && !lists(names, controller, ',')) || (version == 2 && place)) return;
    for_each_line(mountinfo, [&](std::string_view mounted) {
      if (const auto found = hierarchy_of(mounted, controller, version))
        if (auto here = place_in(*found, membership.substr(second + 1), version)) place = std::move(here);
    });
  });
  return place;
}

std::optional<cgroup_place> own_cgroup(std::string_view controller) {
  return locate_cgroup(controller, read_file("/proc/self/mountinfo"), read_file("/proc/self/cgroup"));
}

memory_group::memory_group(std::uint64_t limit) {
  const auto place = own_cgroup("memory");
  if (!place || !enter(*place)) return;
  const char* knob = version_ == 1 ? "/memory.limit_in_bytes" : "/memory.max";
  limited_ = limit > 0 && write_file(directory_ + knob, std::to_string(limit));
}

bool memory_group::enter(const cgroup_place& place) {
  const std::string parent = place.directory();
  const std::string mine = parent + "/" + std::string(group_prefix) + std::to_string(getpid());
  sweep(parent);
  if (!governs_memory(parent, place.version) || mkdir(mine.c_str(), 0755) != 0) return false;
  parent_ = parent, directory_ = mine, version_ = place.version;
  if (peak() && write_file(mine + "/cgroup.procs", std::to_string(getpid()))) return true;
  rmdir(mine.c_str());
  directory_.clear();
  return false;
}

memory_group::~memory_group() {
  if (!active()) return;
  write_file(parent_ + "/cgroup.procs", std::to_string(getpid()));
  for (int tries = 0; rmdir(directory_.c_str()) != 0 && errno == EBUSY && tries < 50; ++tries) usleep(1000);
}

std::optional<std::uint64_t> memory_group::peak() const {
  if (!active()) return {};
  const std::string path = directory_ + (version_ == 1 ? "/memory.max_usage_in_bytes" : "/memory.peak");
  if (access(path.c_str(), R_OK) != 0) return {};
  return number_in(path);
}

double throttled_seconds() {
  double most = 0;
  const auto place = own_cgroup("cpu");
  for (const auto& directory : place ? place->ancestry() : std::vector<std::string>()) {
    for_each_line(read_file(directory + "/cpu.stat"), [&](std::string_view line) {
      const auto name = take_word(line);
      const double unit = name == "throttled_time" ? 1e-9 : name == "throttled_usec" ? 1e-6 : 0;
      most = std::max(most,
                      unit * static_cast<double>(parse_number<std::uint64_t>(take_word(line)).value_or(0)));
    });
  }
  return most;
}

}  // namespace corescale::probe
