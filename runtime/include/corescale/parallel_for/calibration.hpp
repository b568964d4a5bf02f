// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

namespace corescale::inline v0 {

/// The constants of a machine that the policies `auto` and `trained` need, in nanoseconds. The defaults are those of x86 servers built
/// between 2019 and 2024. A wrong constant costs a few per cent, because the time of a loop hardly changes around its best block. Fork
/// times are those of empty rounds. If other threads may take over a thread's share, a loop loses only the mean delay of its threads; on
/// two threads that is half of fork_cold.
struct calibration {
  double claim_own = 10;      ///< an atomic addition to a cache line that no other thread touches
  double line_near = 80;      ///< transfer of a cache line from another core of the L3 domain
  double line_far = 200;      ///< transfer of a cache line from another L3 domain
  double fork_hot = 300;      ///< fork and join of two threads that spin
  double fork_thread = 60;    ///< each further thread adds this
  double fork_cold = 10'000;  ///< fork and join of threads that sleep; a loop learns whether its forks pay
  double byte = 0.1;          ///< reading or writing one byte; used only until an iteration has been timed
  double operation = 0.3;     ///< one operation; used only until an iteration has been timed
  double trained_near = 80;   ///< the cost of a claim for `trained`, fitted by calibrate --train
  double trained_far = 120;   ///< each further L3 domain adds this
  double trained_spread = 1;  ///< the wait for the last block grows with this power of an iteration's time
};

inline constexpr calibration shipped_calibration{};

/// A calibration file: the line `format = 2`, then a line `name = value` for any of the above, value > 0; `#` begins a
/// comment. Other constants keep their defaults. `cpus = 2 x AMD EPYC` names the machine of the constants. Names that begin with `lab.`
/// are ignored.
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

/// A sentence that says why machine_calibration() does not use the named file; empty if it does, or if no file is named.
const std::string& calibration_note();

/// One row per constant, for programs that write such a file.
struct calibration_constant {
  const char* name;
  double calibration::*value;
};
std::span<const calibration_constant> calibration_constants() noexcept;

}  // namespace corescale
