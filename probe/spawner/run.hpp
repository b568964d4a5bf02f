// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "spawner/arguments.hpp"
#include "spawner/report.hpp"

namespace corescale::probe {

/// Starts the program, supervises it and says what it gave. `report_file` is watched for its reader.
report run(const arguments& asked, int report_file);

}  // namespace corescale::probe
