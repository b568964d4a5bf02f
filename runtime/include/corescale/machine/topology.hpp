// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace corescale {

/// Cores this process may really use at once: min(affinity of the calling thread, cgroup v1/v2 CPU quota
/// rounded down), at least 1. Reads a few files and makes a system call (some 50 us), so keep the answer.
/// Never throws.
std::size_t usable_cores() noexcept;

}  // namespace corescale
