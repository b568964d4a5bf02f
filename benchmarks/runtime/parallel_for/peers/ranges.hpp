// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>

template <class Loop>
constexpr bool has_range = requires {
  Loop::range(0, 0);
};

/// The iterations begin .. end - 1 of a loop: by its own range form, where it has one.
template <class Loop>
void run_range(std::size_t begin, std::size_t end) {
  if constexpr (has_range<Loop>) {
    Loop::range(begin, end);
  } else {
    for (std::size_t i = begin; i < end; ++i) Loop::at(i);
  }
}

/// Of contenders that have no range form (OpenMP, Taskflow 3.2), or whose users choose its blocks (parlaylib, fork_union when dynamic): a loop
/// whose body has one is run in blocks of this many iterations. Long enough that a block's claim costs nothing, short enough for balance: generous.
template <class Loop>
constexpr std::size_t by_hand = has_range<Loop> ? 1024 : 1;

template <class Loop>
constexpr std::size_t num_blocks = (Loop::n + by_hand<Loop> - 1) / by_hand<Loop>;

template <class Loop>
void run_block(std::size_t block) {
  if constexpr (has_range<Loop>) {
    const std::size_t begin = block * by_hand<Loop>;
    Loop::range(begin, std::min(Loop::n, begin + by_hand<Loop>));
  } else {
    Loop::at(block);
  }
}
