// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

namespace corescale::inline v0 {

/// Nanoseconds on the monotonic clock; only differences mean anything. Costs 20 to 30 ns where the kernel's
/// vDSO serves it.
inline std::int64_t now_ns() noexcept {
  using namespace std::chrono;
  return duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count();
}

}  // namespace corescale
