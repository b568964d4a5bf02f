// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace corescale::inline v0 {

/// Bytes between two objects that different threads write, so that neither slows the other down.
/// 128, not 64: current x86 cores prefetch lines in pairs, and some Arm cores have 128-byte lines.
/// A binary interface cannot use std::hardware_destructive_interference_size, because it may change with compiler flags.
inline constexpr std::size_t cache_line = 128;

}  // namespace corescale
