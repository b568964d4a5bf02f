// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace corescale::inline v0 {

/// Bytes between two objects that different threads write, so that neither slows the other down.
/// 128, not 64: current x86 cores prefetch lines in pairs, and some Arm cores have 128-byte lines.
/// A constant of our own, because std::hardware_destructive_interference_size may change with compiler flags, so a binary interface cannot
/// use it.
inline constexpr std::size_t cache_line = 128;

}  // namespace corescale
