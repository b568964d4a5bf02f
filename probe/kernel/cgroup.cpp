// SPDX-License-Identifier: Apache-2.0
#include "kernel/cgroup.hpp"

#include <algorithm>

#include "kernel/file.hpp"
#include "text/cpu_list.hpp"

namespace corescale::probe {
namespace {

struct hierarchy {
  std::string root;
  std::string mount;
};

/// The mount in a line of mountinfo, if it is the wanted hierarchy.
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
  if (!path.empty() && path.front() != '/') return {};  // /a/bc is not inside /a/b
  return cgroup_place{found.mount, std::string(path == "/" ? "" : path), version};
}

/// The seconds that a group's cpu.stat says it was throttled, in the unit of either version.
double throttled_in(const std::string& directory) {
  const std::string file = directory + "/cpu.stat";
  if (const auto nanoseconds = statistic(file, "throttled_time"))
    return 1e-9 * static_cast<double>(*nanoseconds);
  return 1e-6 * static_cast<double>(statistic(file, "throttled_usec").value_or(0));
}

}  // namespace

bool lists(std::string_view names, std::string_view wanted, char separator) {
  while (!names.empty()) {
    const auto end = names.find(separator);
    if (names.substr(0, end) == wanted) return true;
    names.remove_prefix(end == names.npos ? names.size() : end + 1);
  }
  return false;
}

std::optional<std::uint64_t> statistic(const std::string& path, std::string_view name) {
  std::optional<std::uint64_t> found;
  for_each_line(read_file(path), [&](std::string_view line) {
    if (take_word(line) == name) found = parse_number<std::uint64_t>(take_word(line));
  });
  return found;
}

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
    if ((version == 1 && (controller.empty() || !lists(names, controller, ','))) || (version == 2 && place))
      return;
    for_each_line(mountinfo, [&](std::string_view mounted) {
      if (const auto found = hierarchy_of(mounted, controller, version))
        if (auto here = place_in(*found, membership.substr(second + 1), version)) place = std::move(here);
    });
  });
  return place;
}

std::optional<cgroup_place> own_cgroup(std::string_view controller, const std::string& root) {
  auto place = locate_cgroup(controller, read_file(root + "/proc/self/mountinfo"),
                             read_file(root + "/proc/self/cgroup"));
  if (place) place->mount.insert(0, root);
  return place;
}

std::map<std::string, double> throttling::totals() const {
  std::map<std::string, double> seconds;
  const auto place = own_cgroup("cpu", root_);
  for (const auto& directory : place ? place->ancestry() : std::vector<std::string>())
    seconds[directory] = throttled_in(directory);
  return seconds;
}

/// The largest of the groups' differences. (The group with the largest total may no longer be held back.)
double throttling::seconds() const {
  double most = 0;
  for (const auto& [directory, now] : totals())
    if (const auto then = before_.find(directory); then != before_.end())
      most = std::max(most, now - then->second);
  return most;
}

}  // namespace corescale::probe
