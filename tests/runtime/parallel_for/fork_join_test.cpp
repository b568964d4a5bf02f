// SPDX-License-Identifier: Apache-2.0
// What a timed loop says that fork and join added to it.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>

#include "loop_run.hpp"
#include "pretended_teams.hpp"

namespace corescale::test {
namespace {

using namespace std::chrono_literals;

struct timed {
  double least_ns = 1e18;     ///< what fork and join added, at least
  double least_share = 1e18;  ///< of the time of the loop
};

/// Two iterations, one for each thread, of which the first takes that long; several times, as a busy machine adds to some.
template <class Team>
timed five_loops(Team crew, std::chrono::milliseconds first) {
  const auto run = [&](std::uint64_t begin, std::uint64_t /*end*/) {
    if (begin == 0) std::this_thread::sleep_for(first);
  };
  const loop_description loop{.n = 2, .threads = 2};
  timed seen;
  for (int i = 0; i < 5; ++i) {
    detail::timed_loop one(loop, one_share_each(loop), run, nullptr);
    EXPECT_TRUE(one.run(detail::team_ref::to(crew)));
    seen.least_ns = std::min(seen.least_ns, one.fork_join_ns());
    seen.least_share = std::min(seen.least_share, one.fork_join_ns() / one.elapsed_ns());
  }
  return seen;
}

// The clocks are known to within 1%.
TEST(ForkJoin, IsWhatTheThreadsAreLateInTheMean) {
  const timed seen = five_loops(late_team{.late = 20ms}, 0ms);
  EXPECT_GT(seen.least_ns, 0.98 * 10e6);
  EXPECT_LT(seen.least_share, 0.75);
}

TEST(ForkJoin, IsWhatTheReturnIsLate) {
  const timed seen = five_loops(thread_for_two{.late = 20ms}, 0ms);
  EXPECT_GT(seen.least_ns, 0.98 * 20e6);
}

TEST(ForkJoin, IsNothingOfWhatTheIterationsTake) {
  const timed seen = five_loops(thread_for_two{}, 20ms);
  EXPECT_LT(seen.least_share, 0.25);
}

}  // namespace
}  // namespace corescale::test
