// SPDX-License-Identifier: Apache-2.0
// What the processes of the tree used: exact where the kernel says it at their end, sampled where it does
// not.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace corescale::probe {

/// A process that was reaped here: the main program, or one that its parent left behind. The figures include
/// the descendants that it had reaped itself.
struct ended_process {
  pid_t pid = 0;
  /// The last one sampled, so that a wrapper's target is named; else the file launched or the kernel's short
  /// name.
  std::string executable;
  rusage usage{};
  std::vector<int> affinity;
};

/// Time on a core and time waiting for one, in seconds, from schedstat.
struct schedule_times {
  double on_cpu = 0;
  double waiting = 0;
};

class accounts {
 public:
  /// Names the main process before it can be sampled; what its schedstat held before the program is not the
  /// program's.
  void introduce(pid_t process, const std::string& executable, std::string_view schedstat);
  /// Reads every thread and process of the tree. Costs some microseconds a thread.
  void sample();
  /// Reads what a zombie still shows; call between its end and wait4.
  void last_look(pid_t zombie);
  void book(pid_t zombie, const rusage& usage);

  const std::vector<ended_process>& ended() const { return ended_; }
  /// Nothing where the kernel keeps no schedstat.
  std::optional<schedule_times> schedule() const;
  /// Whether some thread ended after its last reading, so that schedule() is a lower bound.
  bool schedule_incomplete() const;
  /// The largest sampled sum of the private resident bytes of all processes plus the largest shared part. A
  /// lower bound in time; pages that a fork shares copy-on-write count in each process. 0 when never sampled.
  std::uint64_t sampled_peak() const { return sampled_peak_; }
  /// The largest process, in bytes.
  std::uint64_t largest_peak() const;

  double user() const;
  double system() const;
  std::int64_t involuntary() const;
  std::int64_t voluntary() const;

 private:
  struct sighting {
    std::string executable;
    std::vector<int> affinity;
  };
  void read_thread(pid_t process, pid_t thread);
  void sight(pid_t process);

  std::map<pid_t, schedule_times> threads_;
  std::map<pid_t, sighting> sightings_;
  schedule_times before_;   // of the main process, until its program was executed
  schedule_times earlier_;  // of threads whose id was given out again
  std::vector<ended_process> ended_;
  std::uint64_t sampled_peak_ = 0;
};

/// CPUs that the thread may run on; empty where it cannot be asked.
std::vector<int> affinity_of(pid_t thread);

double seconds_of(const timeval& time);

}  // namespace corescale::probe
