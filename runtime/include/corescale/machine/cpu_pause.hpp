// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace corescale::inline v0 {

/// Tells the core that this thread spins, so that a sibling hardware thread gets its resources. No memory
/// effect; 1 to 50 ns.
inline void cpu_pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");
#endif
}

}  // namespace corescale
