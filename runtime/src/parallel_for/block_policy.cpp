// SPDX-License-Identifier: Apache-2.0
#include "corescale/parallel_for/block_policy.hpp"

#include <algorithm>
#include <array>

#include "policies/policies.hpp"

namespace corescale::inline v0 {
namespace {

constexpr std::array table{
    block_policy{"auto", "least predicted time; learns from the loop's own blocks", policies::automatic,
                 false, true},
    block_policy{"static", "one share per thread", policies::static_shares},
    block_policy{"fixed", "blocks of one size from one counter", policies::fixed, true},
    block_policy{"guided", "the rest over the threads", policies::guided},
    block_policy{"taskflow_guided", "half of the rest over the threads", policies::taskflow_guided},
    block_policy{"published_cost_model", "the formula of Shuai (2021)", policies::published_cost_model},
};

}  // namespace

std::span<const block_policy> block_policies() noexcept { return table; }

const block_policy& usual_block_policy(std::uint64_t block) noexcept {
  constexpr const auto* with_block = std::ranges::find(table, true, &block_policy::needs_block);
  return block > 0 ? *with_block : table.front();
}

const block_policy* find_block_policy(std::string_view name) noexcept {
  const auto* const row =
      std::find_if(table.begin(), table.end(), [&](const block_policy& one) { return one.name == name; });
  return row == table.end() ? nullptr : row;
}

}  // namespace corescale
