// SPDX-License-Identifier: Apache-2.0
// The master is a boost::thread that is interrupted while its team works, and again while it ends: the round and the end go on, and the
// request waits for the program's own interruption point.
#define BOOST_THREAD_VERSION 4
#include <unistd.h>

#include <atomic>
#include <boost/thread/thread.hpp>
#include <cstdio>

#include "corescale/team/any_team.hpp"

namespace {

/// Whether the request was seen where the program looks for it, and nowhere else.
bool is_seen_once(const char* system, bool at_the_end) {
  std::atomic<bool> working{false}, worked{false}, interrupted{false};
  boost::thread master([&] {
    try {
      corescale::any_team crew = corescale::make_team(2, system);
      const corescale::outcome done = crew.work([&](std::size_t id) {
        if (id == 0) return;
        working = true;
        usleep(100'000);
      });
      worked = done == corescale::outcome::done;
      if (at_the_end) {
        working = false;
        usleep(100'000);
      }
      crew = {};
      boost::this_thread::interruption_point();
    } catch (const boost::thread_interrupted&) {
      interrupted = true;
    }
  });
  while (at_the_end ? !worked || working.load() : !working) usleep(1000);
  master.interrupt();
  master.join();
  return worked && interrupted;
}

}  // namespace

int main() {
  alarm(60);
  for (const char* const system : {"boost", "boost_barrier"})
    for (const bool at_the_end : {false, true})
      if (!is_seen_once(system, at_the_end)) return std::printf("wrong: %s\n", system), 1;
  return 0;
}
