// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

/// The iterations begin .. end - 1 of a loop: by its own range form, where it has one.
template <class Loop>
void run_range(std::size_t begin, std::size_t end) {
  if constexpr (requires { Loop::range(begin, end); }) {
    Loop::range(begin, end);
  } else {
    for (std::size_t i = begin; i < end; ++i) Loop::at(i);
  }
}
