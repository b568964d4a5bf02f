// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace corescale::inline v0::detail {

/// Sees to it that the calling thread's end is noticed, and forks are. Throws std::bad_alloc.
void watch_this_thread();

}  // namespace corescale::detail
