// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "corescale/memory/misuse.hpp"
#include "corescale/memory/thread_alloc.hpp"

namespace corescale::inline v0::detail {

/// Tells the handler of the process; returns when it does.
void report_misuse(const misuse_report& report);

thread_rules current_thread_rules() noexcept;

}  // namespace corescale::detail
