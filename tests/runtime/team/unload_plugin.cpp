// SPDX-License-Identifier: Apache-2.0
#include <atomic>

#include "corescale/team/spin.hpp"

extern "C" int make_team_and_leave_it() {
  auto* const left = corescale::spin_team::create(2).release();
  std::atomic<int> calls{0};
  return left && left->work([&](std::size_t) { ++calls; }) == corescale::outcome::done ? calls.load() : 0;
}
