// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "corescale/machine/topology.hpp"

namespace corescale::inline v0::detail {

/// The core groups that this process may use, numbered from 0, and how many threads at once.
class core_groups {
 public:
  explicit core_groups(const topology& machine);

  std::uint32_t count() const noexcept { return count_; }
  std::uint32_t cores() const noexcept { return cores_; }

  /// The group of the CPU that the calling thread runs on now; 0 without a look where there is one only.
  std::uint32_t here() const noexcept;

  std::uint32_t of(int cpu) const noexcept {
    return static_cast<std::size_t>(cpu) < of_cpu_.size() ? of_cpu_[static_cast<std::size_t>(cpu)] : 0;
  }

 private:
  std::vector<std::uint32_t> of_cpu_;
  std::uint32_t count_ = 1;
  std::uint32_t cores_ = 1;
};

/// Of this machine, made at the first call.
const core_groups& usable_core_groups();

}  // namespace corescale::detail
