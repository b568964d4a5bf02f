// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "corescale/parallel_for/block_policy.hpp"

// One function per row of the table; each has a file of its own.
namespace corescale::inline v0::policies {

loop_plan automatic(const loop_description& loop);
loop_plan static_shares(const loop_description& loop);
loop_plan fixed(const loop_description& loop);
loop_plan guided(const loop_description& loop);
loop_plan taskflow_guided(const loop_description& loop);
loop_plan published_cost_model(const loop_description& loop);

}  // namespace corescale::policies
