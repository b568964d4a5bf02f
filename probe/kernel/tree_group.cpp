// SPDX-License-Identifier: Apache-2.0
#include "kernel/tree_group.hpp"

#include <dirent.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <tuple>
#include <utility>

#include "text/cpu_list.hpp"

namespace corescale::probe {
namespace {

constexpr std::string_view group_prefix = "corescale-launch-";
constexpr std::uint64_t no_limit = std::uint64_t{1}
                                   << 62;  // bytes; version 1 writes 2^63 less a page for no limit

descriptor opened(const std::string& directory) {
  return descriptor(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

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

/// Removes groups whose spawner was killed before it could remove them, and ends their processes. Nobody else does so if corescale was
/// killed together with the spawner. A group stays while its last process is ending.
void sweep(const std::string& parent) {
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(opendir(parent.c_str()),
                                                    [](DIR* d) { return closedir(d); });
  while (const dirent* entry = entries ? readdir(entries.get()) : nullptr) {
    if (!std::string_view(entry->d_name).starts_with(group_prefix)) continue;
    const std::string group = parent + "/" + entry->d_name;
    const descriptor lock = opened(group);
    if (!lock || flock(lock.get(), LOCK_EX | LOCK_NB) != 0) continue;
    write_file(group + "/cgroup.kill", "1");
    remove_empty(group);
  }
}

/// A new group below `parent`, held by a lock while it is open; an empty name if it may not be made. No other
/// group has its name, even if namespaces number processes anew.
std::pair<std::string, descriptor> new_group(const std::string& parent) {
  sweep(parent);
  for (int tries = 0; tries < 10; ++tries) {  // another launch's clean-up may remove it before it is locked
    std::string mine = parent + "/" + std::string(group_prefix) + std::to_string(getpid()) + "-XXXXXX";
    if (!mkdtemp(mine.data()) || chmod(mine.c_str(), 0755) != 0) break;
    descriptor held = opened(mine);
    if (held && flock(held.get(), LOCK_SH) == 0 && access(mine.c_str(), F_OK) == 0)
      return {std::move(mine), std::move(held)};
  }
  return {};
}

/// Tries for a while, because the kernel releases the last process a little after its end.
void remove_group(const std::string& directory) {
  if (directory.empty()) return;
  for (int tries = 0; !remove_empty(directory) && errno == EBUSY && tries < 50; ++tries) usleep(1000);
}

/// Switches the memory controller on for groups below `parent`, if that is allowed.
void govern_memory(const std::string& parent) {
  std::string enabled = read_file(parent + "/cgroup.subtree_control");
  enabled.erase(enabled.find_last_not_of('\n') + 1);
  if (!lists(enabled, "memory", ' ')) write_file(parent + "/cgroup.subtree_control", "+memory");
}

/// Gives a group the tightest limit of its parent and all groups above, for runtimes that read only their own group's limit.
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
  std::tie(unified_, birthplace_) = new_group(place.directory());
  if (unified_.empty()) return;
  kill_ = descriptor(open((unified_ + "/cgroup.kill").c_str(), O_WRONLY | O_CLOEXEC));
  repeat_limit(place, unified_, "/memory.max");
}

void tree_group::enter_memory(const cgroup_place& place) {
  std::tie(memory_, memory_held_) = new_group(place.directory());
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
  birthplace_ = descriptor(), kill_ = descriptor();
  remove_group(unified_);
  unified_.clear();
}

tree_group::~tree_group() {
  if (!memory_.empty()) write_file(memory_parent_ + "/cgroup.procs", std::to_string(getpid()));
  remove_group(memory_);
  remove_group(unified_);
}

void tree_group::kill() const {
  if (kill_) write_all(kill_.get(), "1");
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
