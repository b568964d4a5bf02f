// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

namespace corescale::inline v0::detail {

/// The CPUs of allowed_mask(), in order; empty where the kernel does not tell.
std::vector<int> allowed_cpus();

/// min(allowed CPUs, cgroup quota rounded down), at least 1.
std::size_t within_quota(std::size_t cores);

}  // namespace corescale::detail
