// SPDX-License-Identifier: Apache-2.0
#include "foreign_threads.hpp"

#include <thread>
#include <vector>

#include "waiting.hpp"

namespace corescale::inline v0::detail {

bool can_start_threads(std::size_t n) noexcept {
  std::vector<std::thread> probes;
  countdown_latch end(1);
  bool all = true;
  try {
    probes.reserve(n);
    for (std::size_t started = 0; started < n; ++started)
      probes.emplace_back([&end] { end.wait(std::chrono::nanoseconds::zero()); });
  } catch (...) {
    all = false;
  }
  end.arrive();
  for (std::thread& probe : probes) probe.join();
  return all;
}

}  // namespace corescale::detail
