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

/// Ticks of the processor's own constant-rate counter (TSC, or Arm's virtual counter); nanoseconds if there is
/// none. Costs 8 to 17 ns. Not ordered with the instructions around it.
inline std::uint64_t ticks() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  std::uint64_t value;
  asm volatile("mrs %0, cntvct_el0" : "=r"(value));
  return value;
#else
  return static_cast<std::uint64_t>(now_ns());
#endif
}

/// Length of a tick, measured by both clocks since the library was loaded: exact to 1% after 10 us, to 0.01% after 1 ms.
double ns_per_tick() noexcept;

}  // namespace corescale
