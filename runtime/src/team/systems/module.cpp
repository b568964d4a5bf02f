// SPDX-License-Identifier: Apache-2.0
// The entry point of a threading system's own library. CORESCALE_SYSTEM is its maker.
#include "systems.hpp"

extern "C" void corescale_make_team(corescale::any_team& made, std::size_t num_threads,
                                    const corescale::team_options& options) {
  made = corescale::systems::CORESCALE_SYSTEM(num_threads, options);
}
