// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

namespace corescale::inline v0 {

/// What the policy `auto` has to know of a machine, in nanoseconds. The defaults are of x86 servers between 2019 and
/// 2024; a wrong one costs a few per cent, as the time of a loop is flat around its best block.
struct calibration {
  double claim_own = 10;      ///< an atomic addition to a line that nobody else touches
  double line_near = 80;      ///< a line comes from another core of the core group
  double line_far = 200;      ///< a line comes from another core group
  double fork_hot = 300;      ///< fork and join of two threads that spin
  double fork_thread = 60;    ///< each further thread adds this
  double fork_cold = 10'000;  ///< fork and join when the threads sleep
  double byte = 0.1;          ///< reading or writing one byte; only until an iteration was timed
  double operation = 0.3;     ///< one operation; only until an iteration was timed
};

inline constexpr calibration shipped_calibration{};

/// Reads a calibration file: the line `format = 1`, then a line `name = value` for any of the above, value > 0; `#`
/// begins a comment. What is not named keeps its default. Throws std::runtime_error, which names file, line and remedy.
calibration read_calibration(const std::string& path);

/// The one that loops use: of the file that CORESCALE_CALIBRATION names, read at the first call (which throws as
/// read_calibration does), else the defaults.
const calibration& machine_calibration();

/// One row per constant, for those who write such a file.
struct calibration_constant {
  const char* name;
  double calibration::*value;
};
std::span<const calibration_constant> calibration_constants() noexcept;

}  // namespace corescale
