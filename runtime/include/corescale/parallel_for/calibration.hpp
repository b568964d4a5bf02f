// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

namespace corescale::inline v0 {

/// What the policies `auto` and `trained` have to know of a machine, in nanoseconds. The defaults are of x86 servers between 2019 and 2024.
/// A wrong constant costs a few per cent, because the time of a loop is flat around its best block. The times of forks are those of empty
/// rounds. If other threads may take over a thread's share, a loop loses only the mean delay of its threads. On two threads that is half of
/// fork_cold.
struct calibration {
  double claim_own = 10;      ///< an atomic addition to a line that nobody else touches
  double line_near = 80;      ///< a line comes from another core of the L3 domain
  double line_far = 200;      ///< a line comes from another L3 domain
  double fork_hot = 300;      ///< fork and join of two threads that spin
  double fork_thread = 60;    ///< each further thread adds this
  double fork_cold = 10'000;  ///< fork and join of threads that sleep; a loop learns whether its forks pay
  double byte = 0.1;          ///< reading or writing one byte; only until an iteration was timed
  double operation = 0.3;     ///< one operation; only until an iteration was timed
  double trained_near = 80;   ///< what a claim counts for `trained`, as calibrate --train fits it
  double trained_far = 120;   ///< each further L3 domain adds this
  double trained_spread = 1;  ///< waiting for the last block grows with this power of an iteration
};

inline constexpr calibration shipped_calibration{};

/// A calibration file: the line `format = 2`, then a line `name = value` for any of the above, value > 0; `#` begins a
/// comment. A constant that is not named keeps its default. `cpus = 2 x AMD EPYC` says of which machine the constants are. Names that begin
/// with `lab.` are ignored.
struct calibration_file {
  calibration constants;
  std::string cpus;  ///< empty if the file does not say
};

/// Throws std::runtime_error, which names file, line and remedy.
calibration_file read_calibration(const std::string& path);

/// The CPUs of this machine in the words of such a file: how many are online, and their model.
std::string cpus_in_words();

/// The calibration that loops use. It comes from the file that CORESCALE_CALIBRATION names, read at the first
/// call, which throws as read_calibration does. The defaults are used if no file is named, or if its CPUs are
/// not those of this machine.
const calibration& machine_calibration();

/// Why machine_calibration() is not of the file that was named, in a sentence; empty if it is, or if no file was named.
const std::string& calibration_note();

/// One row per constant, for those who write such a file.
struct calibration_constant {
  const char* name;
  double calibration::*value;
};
std::span<const calibration_constant> calibration_constants() noexcept;

}  // namespace corescale
