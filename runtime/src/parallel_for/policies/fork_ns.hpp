// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "corescale/parallel_for/calibration.hpp"

namespace corescale::inline v0::policies {

/// Fork and join of that many threads, at least two, where it takes `of_two` for two.
inline double fork_ns(double of_two, std::uint32_t threads, const calibration& machine) noexcept {
  return of_two + machine.fork_thread * (threads - 2);
}

}  // namespace corescale::policies
