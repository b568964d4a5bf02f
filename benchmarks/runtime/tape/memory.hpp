// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "contender.hpp"

namespace bench {

/// Bytes for each operation that one gradient of the two-body kernel, ten times as long, adds to the memory of the process at
/// its largest: pages touched, to about 1%. In a child of its own, as libraries keep what they have, so before any of them ran.
double bytes_per_operation(const contender& one);

}  // namespace bench
