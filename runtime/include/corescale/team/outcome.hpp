// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace corescale::inline v0 {

/// What became of a call of a team; only `done` means that workers were run.
enum class outcome {
  done,
  nested,           ///< called from inside a worker of the same team
  not_master,       ///< called by another thread than the team's master
  forked,           ///< called in a fork() of the team's owner, which has no such threads
  empty,            ///< called on an any_team that holds none
  too_few_threads,  ///< the team has, or its threading system would give, fewer threads than were asked for
};

/// The outcome in words.
const char* name(outcome what) noexcept;

}  // namespace corescale
