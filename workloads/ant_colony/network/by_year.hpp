// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ant_colony/network/year.hpp"

namespace network {

/// Our program, which gives the same answer without the causes of waiting. Pheromone is in arrays of the thread's own memory, and one
/// parallel_for runs the iterations of all months, so that no thread waits at a month's end. The thread that ends a month's last
/// iteration writes the month's result. Each of several ranks takes its part of every month; they merge once, at the end.
void search_by_year(std::span<const Month> months, const Work& work, const driver::Ranks& ranks, Year& year);

}  // namespace network
