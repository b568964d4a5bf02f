// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "ant_colony/network/program.hpp"
#include "ant_colony/network/year.hpp"

namespace network {

/// Combines the times of all ranks: the longest of each kind; the sum, for times that are summed over threads; the mean, for waiting.
/// Every rank calls it.
void gather(const driver::Ranks& ranks, Year& year);

/// Rank 0 prints the year. Returns the exit status.
int report(const Request& request, const Work& work, std::span<const Month> months,
           const driver::Ranks& ranks, const Year& year);

}  // namespace network
