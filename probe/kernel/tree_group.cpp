// SPDX-License-Identifier: Apache-2.0
#include "kernel/tree_group.hpp"

#include <dirent.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "text/cpu_list.hpp"

namespace corescale::probe {
namespace {

constexpr std::string_view group_prefix = "corescale-";
constexpr std::uint64_t no_limit = std::uint64_t{1}
                                   << 62;  // bytes; version 1 writes none as 2^63 less a page

/// Removes a group, and before it those that the program made in it.
bool remove_empty(const std::string& directory) {
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(opendir(directory.c_str()),
                                                    [](DIR* d) { return closedir(d); });
  const std::string inside = directory + "/";
  while (const dirent* entry = entries ? readdir(entries.get()) : nullptr) {
    const std::string name = entry->d_name;
    if (entry->d_type == DT_DIR && name != "." && name != "..") remove_empty(inside + name);
  }
  return rmdir(directory.c_str()) == 0;
}

/// Removes groups whose spawner was killed before it could; those that still hold processes stay.
void sweep(const std::string& parent) {
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(opendir(parent.c_str()),
                                                    [](DIR* d) { return closedir(d); });
  while (const dirent* entry = entries ? readdir(entries.get()) : nullptr) {
    const std::string_view name = entry->d_name;
    if (!name.starts_with(group_prefix)) continue;
    const auto owner = parse_number<pid_t>(name.substr(group_prefix.size()));
    if (owner && kill(*owner, 0) != 0 && errno == ESRCH) remove_empty(parent + "/" + entry->d_name);
  }
}

/// The directory of a new group below `parent`; empty where it may not be made.
std::string new_group(const std::string& parent) {
  sweep(parent);
  const std::string mine = parent + "/" + std::string(group_prefix) + std::to_string(getpid());
  return mkdir(mine.c_str(), 0755) == 0 ? mine : std::string();
}

/// Tries for a while: the kernel lets go of the last process a little after its end.
void remove_group(const std::string& directory) {
  if (directory.empty()) return;
  for (int tries = 0; !remove_empty(directory) && errno == EBUSY && tries < 50; ++tries) usleep(1000);
}

/// Switches the memory controller on for groups below `parent`, where that is allowed.
void govern_memory(const std::string& parent) {
  std::string enabled = read_file(parent + "/cgroup.subtree_control");
  enabled.erase(enabled.find_last_not_of('\n') + 1);
  if (!lists(enabled, "memory", ' ')) write_file(parent + "/cgroup.subtree_control", "+memory");
}

/// Gives a group the tightest limit of its parent and those above. A runtime that reads its own group's limit alone
/// should find what binds it.
void repeat_limit(const cgroup_place& parent, const std::string& group, const char* file) {
  std::uint64_t least = no_limit;
  for (const auto& directory : parent.ancestry()) {
    std::string text = read_file(directory + file);
    text.erase(text.find_last_not_of('\n') + 1);
    least = std::min(least, parse_number<std::uint64_t>(text).value_or(no_limit));
  }
  if (least < no_limit) write_file(group + file, std::to_string(least));
}

}  // namespace

tree_group::tree_group(const std::string& root) {
  if (const auto place = own_cgroup("", root)) make_unified(*place);
  const auto memory = own_cgroup("memory", root);
  if (memory && memory->version == 1) enter_memory(*memory);
}

void tree_group::make_unified(const cgroup_place& place) {
  govern_memory(place.directory());
  unified_ = new_group(place.directory());
  if (unified_.empty()) return;
  birthplace_ = descriptor(open(unified_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  repeat_limit(place, unified_, "/memory.max");
}

void tree_group::enter_memory(const cgroup_place& place) {
  memory_ = new_group(place.directory());
  memory_parent_ = place.directory();
  if (memory_.empty()) return;
  if (!write_file(memory_ + "/cgroup.procs", std::to_string(getpid()))) {
    remove_group(memory_);
    memory_.clear();
  } else {
    repeat_limit(place, memory_, "/memory.limit_in_bytes");
  }
}

void tree_group::disown() {
  birthplace_ = descriptor();
  remove_group(unified_);
  unified_.clear();
}

tree_group::~tree_group() {
  if (!memory_.empty()) write_file(memory_parent_ + "/cgroup.procs", std::to_string(getpid()));
  remove_group(memory_);
  remove_group(unified_);
}

std::optional<double> tree_group::cpu_seconds() const {
  if (unified_.empty()) return {};
  const auto used = statistic(unified_ + "/cpu.stat", "usage_usec");
  return used ? std::optional(1e-6 * static_cast<double>(*used)) : std::nullopt;
}

std::optional<std::uint64_t> tree_group::anonymous() const {
  if (!memory_.empty()) return statistic(memory_ + "/memory.stat", "total_rss");
  if (!unified_.empty()) return statistic(unified_ + "/memory.stat", "anon");
  return {};
}

}  // namespace corescale::probe
