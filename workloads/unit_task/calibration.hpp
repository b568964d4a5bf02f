// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <corescale/parallel_for/calibration.hpp>
#include <iostream>
#include <stdexcept>
#include <string>

#include "driver/error.hpp"

namespace unit_task {

/// Says so if the calibration is of another machine. Refuses a broken one.
inline void check_calibration(const std::string& program) try {
  if (const std::string& note = corescale::calibration_note(); !note.empty())
    std::cerr << program << ": " << note << '\n';
} catch (const std::runtime_error& error) {
  throw driver::Error(program, error.what(), "or write a new one by corescale calibrate");
}

}  // namespace unit_task
