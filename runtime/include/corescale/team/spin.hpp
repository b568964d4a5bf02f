// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "corescale/team/detail/crewed_team.hpp"

namespace corescale::inline v0 {

namespace detail {
struct spin_crew;
extern template class crewed_team<spin_crew>;
}  // namespace detail

/// The default team: spin, then sleep.
/// A fork-join costs two cache-line round trips while the threads spin, and one wake-up once they sleep.
using spin_team = detail::crewed_team<detail::spin_crew>;

static_assert(team<spin_team>);

}  // namespace corescale
