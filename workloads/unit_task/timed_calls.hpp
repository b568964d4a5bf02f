// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <corescale/machine/clock.hpp>
#include <limits>
#include <thread>

#include "driver/repeat.hpp"
#include "driver/result.hpp"

namespace unit_task {

/// The time for which a loop is called before it is timed, so that the policy learns, and caches and pages warm up.
inline constexpr double warm_up_seconds = 0.01;

struct Timed {
  driver::Repeated repeated;
  double first_seconds;
  double ticks;  ///< of a call
};

/// Calls with a pause before each, until `least` seconds have passed, pauses included. In a pause, which is not timed, threads fall asleep.
template <class Call>
driver::Repeated repeat_after_pauses(Call call, double least, std::chrono::milliseconds pause) {
  const auto start = std::chrono::steady_clock::now();
  driver::Repeated all{0, 0, std::numeric_limits<double>::max()};
  double seconds = 0;
  do {
    std::this_thread::sleep_for(pause);
    const double one = driver::repeat(call, 0).seconds;
    seconds += one;
    all.least_seconds = std::min(all.least_seconds, one);
    ++all.repeats;
  } while (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() < least);
  all.seconds = seconds / static_cast<double>(all.repeats);
  return all;
}

template <class Call>
Timed time_calls(Call call, double least, std::chrono::milliseconds pause) {
  const double first_seconds = driver::repeat(call, 0).seconds;
  driver::repeat(call, warm_up_seconds);
  corescale_region_begin("loops");
  const std::uint64_t start = corescale::ticks();
  const bool pauses = pause.count() > 0;
  const auto repeated = pauses ? repeat_after_pauses(call, least, pause) : driver::repeat(call, least);
  const auto passed = static_cast<double>(corescale::ticks() - start);
  corescale_region_end("loops");
  return {repeated, first_seconds,
          pauses ? repeated.seconds * 1e9 / corescale::ns_per_tick()
                 : passed / static_cast<double>(repeated.repeats)};
}

}  // namespace unit_task
