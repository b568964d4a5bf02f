// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "driver/arguments.hpp"

namespace network {

/// The options of --problem network.
struct Request {
  std::string data, write_data, solution;
  std::string parallel = "openmp", look = "key", heap = "plain", goal = "cost=1";
  int orders = 9216, months = 0, iterations = 1000, candidates = 12;
  bool flat = false, account = false;
};

void add_options(driver::Arguments& arguments, Request& request);

/// The exit status. `ants` and `cycles` of a colony; 0: the network's own. Throws driver::Error.
int solve(const Request& request, std::uint64_t seed, int ants, int cycles);

}  // namespace network
