// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "spawner/arguments.hpp"
#include "spawner/report.hpp"

namespace corescale::probe {

/// Starts the program, supervises it and returns its result. Cancels if the reader of `report_file` goes.
report run(const arguments& asked, int report_file);

}  // namespace corescale::probe
