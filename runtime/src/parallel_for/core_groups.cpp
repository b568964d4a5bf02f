// SPDX-License-Identifier: Apache-2.0
#include "core_groups.hpp"

#include <sched.h>

#include <algorithm>
#include <map>

#include "corescale/machine/made_once.hpp"

namespace corescale::inline v0::detail {

core_groups::core_groups(const topology& machine) : cores_(static_cast<std::uint32_t>(machine.most_threads)) {
  std::map<int, std::uint32_t> numbers;
  for (const cpu_place& one : machine.usable()) {
    const auto group =
        numbers.try_emplace(one.core_group, static_cast<std::uint32_t>(numbers.size())).first->second;
    of_cpu_.resize(std::max(of_cpu_.size(), static_cast<std::size_t>(one.cpu) + 1), 0);
    of_cpu_[static_cast<std::size_t>(one.cpu)] = group;
  }
  count_ = std::max(1U, static_cast<std::uint32_t>(numbers.size()));
}

std::uint32_t core_groups::here() const noexcept { return count_ == 1 ? 0 : of(sched_getcpu()); }

const core_groups& usable_core_groups() {
  // By sysfs, as a first loop pays for it; but what was read before a team pinned this thread to one CPU comes first.
  constinit static made_once<core_groups> groups;
  return groups.get([] {
    const topology* const known = known_machine();
    return core_groups(known ? *known : topology::here_by_sysfs());
  });
}

}  // namespace corescale::detail
