// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>

namespace driver {

/// The times of a body that was run several times.
struct Repeated {
  double seconds;  ///< mean of a run
  long repeats;
  double least_seconds;  ///< time of the fastest run
};

/// Runs `body` until `least` has passed in all, at least once (Bell and Hepperger 2012, section II: a second).
/// The clock is read once a run, which costs some 30 ns.
/// `agreed` turns this rank's seconds into seconds on which all ranks agree, so that all make the same number of runs.
template <class Body, class Agree = std::identity>
Repeated repeat(Body&& body, double least = 1, Agree&& agreed = {}) {
  const auto start = std::chrono::steady_clock::now();
  double passed = 0, least_run = std::numeric_limits<double>::max();
  long repeats = 0;
  do {
    body();
    ++repeats;
    const double before = passed;
    passed = agreed(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    least_run = std::min(least_run, passed - before);
  } while (passed < least);
  return {passed / static_cast<double>(repeats), repeats, least_run};
}

}  // namespace driver
